package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/statebridge/statebridge/state"
)

// Rows decodes the entries of a range of key groups, in the order of their composite keys. The Row is valid until the next one; an error is
// the last pair.
func (t *Table) Rows(ctx context.Context, groups KeyGroups) iter.Seq2[*state.Row, error] {
	return func(yield func(*state.Row, error) bool) {
		stopped, err := t.eachRow(ctx, groups, func(r *state.Row) bool { return yield(r, nil) })
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("%s: %w", t.Operator.Title(), err))
		}
	}
}

func (t *Table) eachRow(ctx context.Context, groups KeyGroups, yield func(*state.Row) bool) (stopped bool, err error) {
	c, err := t.Cursor(ctx, groups)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var row state.Row
	for c.Next() {
		if err := decode(&row, c.Schema(), c.Key(), c.Value()); err != nil {
			return false, err
		}
		if !yield(&row) {
			return true, nil
		}
	}
	return false, c.Err()
}

func decode(row *state.Row, s *state.Schema, key, value []byte) error {
	if err := s.DecodeKey(row, key); err != nil {
		return err
	}
	return s.DecodeValue(row, value)
}

// Count counts the rows. It reads every key and no value is decoded.
func (t *Table) Count(ctx context.Context) (n int64, err error) {
	c, err := t.Cursor(ctx, AllKeyGroups(t.maxParallelism))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for c.Next() {
		n++
	}
	return n, c.Err()
}
