package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/state"
)

// keyGroups is a stream of key groups, one after the other.
type keyGroups interface {
	// Entries gives one state's entries of one key group in no set order; their bytes are valid until the next.
	Entries(ctx context.Context, stateID, keyGroup int) iter.Seq2[flink.Entry, error]
	Close() error
}

// stream is a source that lies in key-group streams: the heap backend's own, a canonical savepoint, or timers in raw keyed state. A key group's
// entries stand there in no order that helps, so they are sorted, one key group at a time.
type stream struct {
	groups keyGroups
	dir    string // for sorting
	memory *spill.Memory
}

func (s *stream) cursor(ctx context.Context, p *part, groups KeyGroups, lower, upper []byte) (Cursor, error) {
	return &streamCursor{
		ctx: ctx, source: s, part: p, next: groups.First, last: groups.Last, lower: lower, upper: upper,
		sorter: spill.Sorter{Dir: s.dir, Memory: s.memory},
	}, nil
}

func (s *stream) get(ctx context.Context, p *part, g int, key []byte) (value []byte, found bool, err error) {
	c, err := s.cursor(ctx, p, KeyGroups{g, g}, key, append(bytes.Clone(key), 0))
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if found = c.Next(); found {
		value = bytes.Clone(c.Value())
	}
	return value, found, c.Err()
}

func (s *stream) close() error { return s.groups.Close() }

func (s *stream) size(*part) int64 { return -1 }

type streamCursor struct {
	ctx          context.Context
	source       *stream
	part         *part
	next, last   int // key groups still to sort
	lower, upper []byte
	sorter       spill.Sorter
	sorted       *spill.Cursor
	err          error
}

func (c *streamCursor) Next() bool {
	for c.err == nil {
		if c.sorted != nil {
			if c.sorted.Next() {
				return true
			}
			c.err = errors.Join(c.sorted.Err(), c.sorted.Close())
			c.sorted = nil
			continue
		}
		if c.next > c.last {
			return false
		}
		c.sorted, c.err = c.sort(c.next)
		c.next++
	}
	return false
}

func (c *streamCursor) sort(group int) (*spill.Cursor, error) {
	for e, err := range c.source.groups.Entries(c.ctx, c.part.id, group) {
		if err != nil {
			return nil, fmt.Errorf("key group %d: %w", group, err)
		}
		if bytes.Compare(e.Key, c.lower) < 0 || c.upper != nil && bytes.Compare(e.Key, c.upper) >= 0 {
			continue
		}
		if c.part.blank(e.Value) {
			continue
		}
		if err := c.sorter.Add(e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	return c.sorter.Sorted()
}

func (c *streamCursor) Key() []byte { return c.sorted.Key() }

func (c *streamCursor) Value() []byte { return c.sorted.Value() }

func (c *streamCursor) Schema() *state.Schema { return c.part.schema }

func (c *streamCursor) Err() error { return c.err }

func (c *streamCursor) Close() error {
	err := c.sorter.Close()
	if c.sorted != nil {
		err = errors.Join(err, c.sorted.Close())
	}
	c.sorted, c.next = nil, c.last+1
	return err
}
