package rocksdb

import (
	"bytes"
	"context"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/fault"
)

// Cursor walks the visible rows of a column family in ascending order of their keys. It serves one goroutine, and must be closed.
type Cursor struct {
	m       *merger
	cover   cover
	pending bool // the merger already stands at the next key
	begun   bool
	key     []byte // of the entry before, or of the row when it is folded
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
	if c.folded || c.m.root == nil {
		return c.key
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
	for c.advance() {
		if c.m.fresh || !c.begun {
			c.begun = true
			return true
		}
		user := c.m.root.it.User()
		if order := bytes.Compare(user, c.key); order > 0 {
			return true
		} else if order < 0 {
			return c.m.fail(fault.Corrupt(c.m.root.ref.table.Name(), -1, "key %x stands behind %x", user, c.key))
		}
	}
	return false
}

// advance keeps the present key and moves the merger, unless it has moved already.
func (c *Cursor) advance() bool {
	if c.pending {
		c.pending = false
		return true
	}
	if c.m.root != nil {
		c.key = append(c.key[:0], c.m.root.it.User()...)
	}
	return c.m.next()
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
		if !bytes.Equal(it.User(), c.key) {
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
