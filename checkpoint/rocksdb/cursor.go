package rocksdb

import (
	"bytes"
	"context"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/fault"
)

// Cursor walks the visible rows of a column family in ascending order of their keys. It serves one goroutine, and must be closed.
type Cursor struct {
	m       *merger
	cover   cover
	pending bool // the merger already stands at the next key
	begun   bool
	key     []byte
	value   []byte
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
func (c *Cursor) Key() []byte { return c.key }

// Value gives the row's value, valid until the next Next.
func (c *Cursor) Value() []byte { return c.value }

// Err gives the fault that ended the walk, or nil at its natural end.
func (c *Cursor) Err() error { return c.m.err }

// Close lets go of the tables.
func (c *Cursor) Close() error {
	c.m.close()
	return nil
}

// Next moves to the next row.
func (c *Cursor) Next() bool {
	for c.newKey() {
		top := c.m.root
		if c.hidden(top) {
			continue
		}
		switch ikey.Kind(top.trailer) {
		case ikey.Value:
			c.value = top.it.Value()
			return true
		case ikey.Merge:
			return c.merge()
		}
	}
	return false
}

// newKey moves to the newest entry of the next key and keeps the key.
func (c *Cursor) newKey() bool {
	for c.pending || c.m.next() {
		c.pending = false
		user := c.m.root.user
		order := 1
		if c.begun && !c.m.fresh {
			order = bytes.Compare(user, c.key)
		}
		if order > 0 {
			c.begun = true
			c.key = append(c.key[:0], user...)
			return true
		}
		if order < 0 {
			return c.m.fail(fault.Corrupt(c.m.root.ref.table.Name(), -1, "key %x stands behind %x", user, c.key))
		}
	}
	return false
}

// hidden tells whether a range tombstone deletes the entry that r stands at.
func (c *Cursor) hidden(r *run) bool {
	return len(c.cover.spans) > 0 && c.cover.seq(r.user) > r.trailer>>8
}

// merge gathers the operands of the present key down to its base, if there is one.
func (c *Cursor) merge() bool {
	c.merged.reset()
	c.merged.add(c.m.root.it.Value())
	for c.m.next() {
		top := c.m.root
		if !bytes.Equal(top.user, c.key) {
			c.pending = true
			break
		}
		if c.hidden(top) {
			break
		}
		kind := ikey.Kind(top.trailer)
		if kind == ikey.Merge || kind == ikey.Value {
			c.merged.add(top.it.Value())
		}
		if kind != ikey.Merge {
			break
		}
	}
	c.value = c.merged.fold()
	return c.m.err == nil
}
