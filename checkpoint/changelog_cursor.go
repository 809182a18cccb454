package checkpoint

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// changelogCursor merges sorted changes with the base: each row is what the base has, after every change of it in the order of
// the log. Where all entries of a map were removed at once, that record's key is the front of theirs, so that it comes before
// them, and its number says which of their changes are older. Where namespaces were merged, all rows of the key are
// worked out together (mergedKey).
type changelogCursor struct {
	schemas      []*state.Schema // of changes, by version
	joined       *state.Schema   // the newest, with what all have seen
	lower, upper []byte          // rows outside are not shown
	base         Cursor
	changes      *spill.Cursor
	sorter       spill.Sorter

	stepBase, stepChanges bool // they are to be moved on first
	baseLeft, changesLeft bool
	cleared               cleared
	merged                *mergedKey
	key                   []byte
	row                   row
	show                  Cursor // base: the row is as it is there
	err                   error
}

// cleared says that all entries with a front were removed.
type cleared struct {
	front []byte // nil: none
	seq   uint64
}

func (c *cleared) covers(key []byte) bool { return c.front != nil && bytes.HasPrefix(key, c.front) }

func (c *changelogCursor) Next() bool {
	for c.err == nil {
		found, more := c.step()
		if c.err != nil || !more {
			return false
		}
		if found && c.inside() {
			return c.known()
		}
	}
	return false
}

func (c *changelogCursor) inside() bool {
	k := c.Key()
	return bytes.Compare(k, c.lower) >= 0 && (c.upper == nil || bytes.Compare(k, c.upper) < 0)
}

// known faults where a value would have to be guessed.
func (c *changelogCursor) known() bool {
	if c.show == nil && c.row.unknown {
		c.err = fault.Unsupported("", -1, "state %q: values of merged namespaces, which only the job's own function can put together", c.joined.Name)
	}
	return c.err == nil
}

// step moves on to the next key, and says whether there is a row.
func (c *changelogCursor) step() (found, more bool) {
	c.show = nil
	if c.merged != nil {
		if c.merged.next(c) {
			return true, true
		}
		c.merged = nil
	}
	c.advance()
	switch {
	case c.err != nil || !c.baseLeft && !c.changesLeft:
		return false, false
	case !c.changesLeft || c.baseLeft && bytes.Compare(c.base.Key(), c.changes.Key()) < 0:
		c.stepBase = true
		if c.cleared.covers(c.base.Key()) {
			return false, true
		}
		c.show = c.base
		return true, true
	}
	c.fold()
	return c.merged == nil && c.row.present, true
}

func (c *changelogCursor) advance() {
	if c.stepBase {
		c.stepBase, c.baseLeft = false, c.base.Next()
		c.err = errors.Join(c.err, c.base.Err())
	}
	if c.stepChanges {
		c.stepChanges, c.changesLeft = false, c.changes.Next()
		c.err = errors.Join(c.err, c.changes.Err())
	}
}

// fold applies the changes of the next key to what the base has.
func (c *changelogCursor) fold() {
	c.key = append(c.key[:0], c.changes.Key()...)
	if readRecord(c.changes.Value()).op == flink.Merge {
		c.merged, c.err = c.mergeKey(c.key)
		return
	}
	c.row.remove()
	if c.baseLeft && bytes.Equal(c.base.Key(), c.key) {
		if !c.cleared.covers(c.key) {
			c.row.set(c.base.Value(), c.base.Schema())
		}
		c.stepBase = true
	}
	for c.err == nil && c.changesLeft && bytes.Equal(c.changes.Key(), c.key) {
		c.apply(readRecord(c.changes.Value()))
		c.stepChanges = true
		c.advanceChanges()
	}
}

// advanceChanges leaves the base where it is: its row may be in use.
func (c *changelogCursor) advanceChanges() {
	c.stepChanges, c.changesLeft = false, c.changes.Next()
	c.err = errors.Join(c.err, c.changes.Err())
}

func (c *changelogCursor) apply(r record) {
	switch {
	case r.op == flink.RemoveAll:
		c.cleared = cleared{front: append(c.cleared.front[:0:0], c.key...), seq: r.seq}
		c.row.remove()
	case c.cleared.covers(c.key) && r.seq < c.cleared.seq:
	default:
		c.err = errors.Join(c.err, c.row.apply(r, c.schemas[r.version]))
	}
}

func (c *changelogCursor) Key() []byte {
	if c.show != nil {
		return c.show.Key()
	}
	return c.key
}

func (c *changelogCursor) Value() []byte {
	if c.show != nil {
		return c.show.Value()
	}
	return c.row.value
}

// Schema is the one that the value was written with; the newest also knows what the others have seen.
func (c *changelogCursor) Schema() *state.Schema {
	s := c.row.schema
	if c.show != nil {
		s = c.show.Schema()
	}
	if sameValue(s, c.joined) {
		return c.joined
	}
	return s
}

func (c *changelogCursor) Err() error {
	if c.err != nil {
		return fmt.Errorf("base and changes: %w", c.err)
	}
	return nil
}

func (c *changelogCursor) Close() error {
	c.baseLeft, c.changesLeft, c.stepBase, c.stepChanges, c.merged = false, false, false, false, nil
	return errors.Join(c.base.Close(), c.changes.Close(), c.sorter.Close())
}
