package checkpoint

import (
	"context"
	"iter"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/state"
)

// operatorState is a source that lies in one subtask's operator state. Its entries have no key groups: those of a
// list no key either, so that they stand in the order of the list.
type operatorState struct{ state *flink.OperatorState }

func (o *Operator) openOperatorState(ctx context.Context, h *flink.OperatorHandle) ([]part, error) {
	s, err := flink.OpenOperatorState(ctx, h, o.snapshot.open, o.stateOptions())
	if err != nil {
		return nil, err
	}
	return o.parts(s.States(), flink.KeyGroupRange{First: 0, Last: o.MaxParallelism - 1}, &operatorState{s}), nil
}

func (s *operatorState) cursor(ctx context.Context, p *part, _ KeyGroups, _, _ []byte) (Cursor, error) {
	next, stop := iter.Pull2(s.state.Entries(ctx, p.id))
	return &operatorCursor{next: next, stop: stop, schema: p.schema}, nil
}

func (s *operatorState) get(context.Context, *part, int, []byte) (value []byte, found bool, err error) {
	return nil, false, nil // has no keys
}

func (s *operatorState) size(*part) int64 { return -1 }

func (s *operatorState) close() error { return s.state.Close() }

type operatorCursor struct {
	next   func() (flink.Entry, error, bool)
	stop   func()
	entry  flink.Entry
	schema *state.Schema
	err    error
}

func (c *operatorCursor) Next() bool {
	if c.err != nil {
		return false
	}
	var ok bool
	c.entry, c.err, ok = c.next()
	return ok && c.err == nil
}

func (c *operatorCursor) Key() []byte { return c.entry.Key }

func (c *operatorCursor) Value() []byte { return c.entry.Value }

func (c *operatorCursor) Schema() *state.Schema { return c.schema }

func (c *operatorCursor) Err() error { return c.err }

func (c *operatorCursor) Close() error {
	c.stop()
	return nil
}
