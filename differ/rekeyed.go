package differ

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/state"
)

// rekeyed compares tables in which one row may have different bytes for a key: another max parallelism puts it into another key
// group, another serializer writes it otherwise. Both sides are sorted anew by what their keys mean.
func (d *diff) rekeyed(ctx context.Context, base, next Table, why string) (err error) {
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
	d.explain(Step{Stretch: checkpoint.Stretch{Groups: checkpoint.AllKeyGroups(next.MaxParallelism()), Method: checkpoint.Rekey, Why: why}})
	return d.merge(before, after)
}

// resorted is a cursor over entries in the order of their identities. An entry travels behind its identity as
//
//	+--------------------+----------------------+-----+-------+
//	| schema's number 2B | key length (uvarint) | key | value |
//	+--------------------+----------------------+-----+-------+
type resorted struct {
	*spill.Cursor
	sorter     *spill.Sorter
	schemas    []*state.Schema
	schema     *state.Schema
	key, value []byte
}

func resort(ctx context.Context, t Table, o Options) (_ *resorted, err error) {
	in, err := t.Cursor(ctx, checkpoint.AllKeyGroups(t.MaxParallelism()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r := &resorted{}
	sorter := &spill.Sorter{Dir: o.TempDir, Memory: o.Memory}
	r.sorter = sorter
	var row state.Row
	var id, entry []byte
	for in.Next() {
		if err := in.Schema().DecodeKey(&row, in.Key()); err != nil {
			return nil, errors.Join(err, sorter.Close())
		}
		id = identity(id[:0], &row)
		entry = binary.BigEndian.AppendUint16(entry[:0], r.number(in.Schema()))
		entry = binary.AppendUvarint(entry, uint64(len(in.Key())))
		entry = append(append(entry, in.Key()...), in.Value()...)
		if err := sorter.Add(id, entry); err != nil {
			return nil, errors.Join(err, sorter.Close())
		}
	}
	if err := in.Err(); err != nil {
		return nil, errors.Join(err, sorter.Close())
	}
	r.Cursor, err = sorter.Sorted()
	return r, err
}

// identity appends what a row is found by: canonical JSON has no NUL, which therefore parts the members. Of a timer the time is one of them.
func identity(dst []byte, row *state.Row) []byte {
	for _, member := range [...][]byte{row.Key, row.Namespace, row.MapKey, row.Value} {
		dst = append(append(dst, member...), 0)
	}
	return dst
}

// number gives a schema's number; there are a handful, one a subtask.
func (r *resorted) number(s *state.Schema) uint16 {
	i := slices.Index(r.schemas, s)
	if i < 0 {
		i = len(r.schemas)
		r.schemas = append(r.schemas, s)
	}
	return uint16(i)
}

func (r *resorted) Close() error { return errors.Join(r.Cursor.Close(), r.sorter.Close()) }

func (r *resorted) Next() bool {
	if !r.Cursor.Next() {
		return false
	}
	entry := r.Cursor.Value()
	r.schema = r.schemas[binary.BigEndian.Uint16(entry)]
	n, width := binary.Uvarint(entry[2:])
	entry = entry[2+width:]
	r.key, r.value = entry[:n], entry[n:]
	return true
}

// Key is the identity: what the two sides are compared by.
func (r *resorted) Key() []byte { return r.Cursor.Key() }

// FullKey is the key as the snapshot has it.
func (r *resorted) FullKey() []byte { return r.key }

func (r *resorted) Value() []byte { return r.value }

func (r *resorted) Schema() *state.Schema { return r.schema }
