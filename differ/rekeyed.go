package differ

import (
	"context"
	"errors"
	"slices"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/state"
)

// rekeyed compares tables of another max parallelism. A key then stands in another key group on each side, so both are
// sorted anew by what follows the key group's prefix.
func (d *diff) rekeyed(ctx context.Context, base, next Table) (err error) {
	before, err := resort(ctx, base, d.options)
	if err != nil {
		return &BaseError{err}
	}
	defer func() { err = errors.Join(err, before.Close()) }()
	after, err := resort(ctx, next, d.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.Close()) }()
	d.explain(Step{Stretch: checkpoint.Stretch{Groups: checkpoint.AllKeyGroups(next.MaxParallelism()), Method: checkpoint.Rekey, Why: "another max parallelism"}})
	return d.merge(before, after)
}

// resorted is a cursor over entries whose keys have lost their prefix; the prefix and the number of the schema travel in front of the value.
type resorted struct {
	*spill.Cursor
	width   int // of the prefix
	schemas []*state.Schema
	schema  *state.Schema
	full    []byte // the key with its prefix
}

func resort(ctx context.Context, t Table, o Options) (_ *resorted, err error) {
	r := &resorted{width: 1}
	if t.MaxParallelism() > 128 {
		r.width = 2
	}
	in, err := t.Cursor(ctx, checkpoint.AllKeyGroups(t.MaxParallelism()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	sorter := &spill.Sorter{Dir: o.TempDir, Memory: o.Memory}
	var value []byte
	for in.Next() {
		key := in.Key()
		value = append(value[:0], byte(r.number(in.Schema())>>8), byte(r.number(in.Schema())))
		value = append(append(value, key[:r.width]...), in.Value()...)
		if err := sorter.Add(key[r.width:], value); err != nil {
			return nil, errors.Join(err, sorter.Close())
		}
	}
	if err := in.Err(); err != nil {
		return nil, errors.Join(err, sorter.Close())
	}
	r.Cursor, err = sorter.Sorted()
	return r, err
}

func (r *resorted) number(s *state.Schema) int {
	if i := slices.Index(r.schemas, s); i >= 0 {
		return i
	}
	r.schemas = append(r.schemas, s)
	return len(r.schemas) - 1
}

func (r *resorted) Next() bool {
	if !r.Cursor.Next() {
		return false
	}
	v := r.Cursor.Value()
	r.schema = r.schemas[int(v[0])<<8|int(v[1])]
	return true
}

// Key is without the prefix: what the two sides are compared by.
func (r *resorted) Key() []byte { return r.Cursor.Key() }

// FullKey is the key as the snapshot has it.
func (r *resorted) FullKey() []byte {
	r.full = append(append(r.full[:0], r.Cursor.Value()[2:2+r.width]...), r.Cursor.Key()...)
	return r.full
}

func (r *resorted) Value() []byte { return r.Cursor.Value()[2+r.width:] }

func (r *resorted) Schema() *state.Schema { return r.schema }
