package rocksdb

import (
	"bytes"
	"context"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
)

// InternalCursor walks all entries of chosen tables, hidden ones too: user keys ascending, the newest entry of a key first.
// It serves one goroutine, and must be closed.
type InternalCursor struct {
	m *merger
}

// InternalCursor opens one over the keys in [lower, upper) of the given tables of any one family; nil leaves a side open.
func (db *DB) InternalCursor(ctx context.Context, files []FileMeta, lower, upper []byte) (*InternalCursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &InternalCursor{db.merger(ctx, files, lower, upper, nil)}, nil
}

// Next moves to the next entry.
func (c *InternalCursor) Next() bool { return c.m.next() }

// Key gives the user key, valid until the next Next.
func (c *InternalCursor) Key() []byte { return c.m.root.it.User() }

// Value gives the value, or the operand of a merge, valid until the next Next.
func (c *InternalCursor) Value() []byte { return c.m.root.it.Value() }

// Seq gives the sequence number.
func (c *InternalCursor) Seq() uint64 { return c.m.root.it.Trailer() >> 8 }

// Kind gives what the entry does: ikey.Value, Delete, SingleDelete or Merge.
func (c *InternalCursor) Kind() ikey.Kind { return ikey.Kind(c.m.root.it.Trailer()) }

// Err gives the fault that ended the walk, or nil at its natural end.
func (c *InternalCursor) Err() error { return c.m.err }

// Close lets go of the tables.
func (c *InternalCursor) Close() error {
	c.m.close()
	return nil
}

// Tombstones gives the range tombstones of the given tables, cut at their files' bounds, disjoint and ascending; where
// several overlap the newest counts.
func (db *DB) Tombstones(ctx context.Context, files []FileMeta) ([]Tombstone, error) {
	var all []Tombstone
	err := db.tables.each(ctx, files, func(_ FileMeta, r *tableRef) {
		for _, t := range r.spans {
			all = append(all, Tombstone{Start: bytes.Clone(t.Start), End: bytes.Clone(t.End), Seq: t.Seq})
		}
	})
	return fragment(all), err
}
