package rocksdb

import (
	"context"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// Cursor walks the visible rows of a column family in ascending order of their keys. It serves one goroutine, and must be closed.
type Cursor struct {
	m       *merger
	cover   cover
	pending bool   // the merger already stands at the next key
	key     []byte // of a folded row
	folded  bool   // the row is made of merged operands
	merged  operands
}

// Cursor opens a cursor over the keys in [lower, upper); nil leaves a side open. A family that does not exist is empty.
func (db *DB) Cursor(ctx context.Context, family string, lower, upper []byte) (*Cursor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Cursor{}
	f, _ := db.Family(family)
	c.m = db.merger(ctx, f.Files, lower, upper, &c.cover)
	return c, nil
}

// Key gives the row's key, valid until the next Next.
func (c *Cursor) Key() []byte {
	switch {
	case c.folded:
		return c.key
	case c.m.root == nil:
		return nil
	}
	return c.m.root.it.User()
}

// Value gives the row's value, valid until the next Next.
func (c *Cursor) Value() []byte {
	switch {
	case c.folded:
		return c.merged.out
	case c.m.root == nil:
		return nil
	}
	return c.m.root.it.Value()
}

// Err gives the fault that ended the walk, or nil at its natural end.
func (c *Cursor) Err() error { return c.m.err }

// Close lets go of the tables.
func (c *Cursor) Close() error {
	c.m.close()
	return nil
}

// Next moves to the next row.
func (c *Cursor) Next() bool {
	c.folded = false
	for c.newKey() {
		it := c.m.root.it
		if len(c.cover.spans) > 0 && c.hidden(it) {
			continue
		}
		switch ikey.Kind(it.Trailer()) {
		case ikey.Value:
			return true
		case ikey.Merge:
			return c.merge()
		}
	}
	return false
}

// newKey moves to the newest entry of the next key.
func (c *Cursor) newKey() bool {
	if c.pending {
		c.pending = false
		return true
	}
	for c.m.next() {
		if !c.m.same {
			return true
		}
	}
	return false
}

// hidden tells whether a range tombstone deletes the entry.
func (c *Cursor) hidden(it *sst.Iter) bool { return c.cover.seq(it.User()) > it.Trailer()>>8 }

// merge gathers the operands of the present key down to its base, if there is one.
func (c *Cursor) merge() bool {
	c.key = append(c.key[:0], c.m.root.it.User()...)
	c.merged.reset()
	c.merged.add(c.m.root.it.Value())
	for c.m.next() {
		it := c.m.root.it
		if !c.m.same {
			c.pending = true
			break
		}
		if c.hidden(it) {
			break
		}
		kind := ikey.Kind(it.Trailer())
		if kind == ikey.Merge || kind == ikey.Value {
			c.merged.add(it.Value())
		}
		if kind != ikey.Merge {
			break
		}
	}
	c.merged.fold()
	c.folded = true
	return c.m.err == nil
}
