package checkpoint

import (
	"context"

	"github.com/statebridge/statebridge/state"
)

// batch holds consecutive entries of one schema, and then what was made of them.
type batch struct {
	schema *state.Schema
	data   []byte // keys and values, one behind the other
	ends   []int  // of each key and each value in data

	out  []byte
	rows int           // in out
	err  error         // of the row behind these
	done chan struct{} // the batch is converted
}

const (
	// batchBytes is what a batch takes in before it is full: enough to make handing it on cheap, few enough for the caches of a core.
	batchBytes = 64 << 10
	// batchKept is the largest buffer that is kept for the next batch; larger ones were grown for single huge rows.
	batchKept = 16 * batchBytes
	// hugeBatch is what a batch takes only by a row that is larger than usual ones by far.
	hugeBatch = 3 * batchBytes
)

// huge says that the batch is to be decoded by itself.
func (b *batch) huge() bool { return len(b.data) > hugeBatch }

// wait waits until a worker has converted the batch.
func (b *batch) wait(ctx context.Context) error {
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func newBatch() *batch { return &batch{done: make(chan struct{}, 1)} }

// failed stands for the rows that cannot be read.
func failed(err error) *batch {
	b := newBatch()
	b.err = err
	b.done <- struct{}{}
	return b
}

func (b *batch) empty() {
	if cap(b.data) > batchKept {
		b.data = nil
	}
	if cap(b.out) > batchKept {
		b.out = nil
	}
	b.data, b.ends, b.out, b.rows = b.data[:0], b.ends[:0], b.out[:0], 0
}

// fill copies entries, from the present one of the cursor on, and says whether the cursor stands at one that is left.
func (b *batch) fill(c Cursor) (more bool) {
	b.schema = c.Schema()
	for more = true; more && len(b.data) < batchBytes && c.Schema() == b.schema; more = c.Next() {
		b.data = append(b.data, c.Key()...)
		b.ends = append(b.ends, len(b.data))
		b.data = append(b.data, c.Value()...)
		b.ends = append(b.ends, len(b.data))
	}
	return more
}

// convert decodes the entries and appends what is made of them.
func (b *batch) convert(row *state.Row, appendRow func(dst []byte, r *state.Row) ([]byte, error)) {
	start := 0
	for i := 0; i < len(b.ends); i += 2 {
		key, value := b.data[start:b.ends[i]], b.data[b.ends[i]:b.ends[i+1]]
		start = b.ends[i+1]
		if b.err = decode(row, b.schema, key, value); b.err != nil {
			return
		}
		out, err := appendRow(b.out, row)
		if err != nil {
			b.err = err
			return
		}
		b.out = out
		b.rows++
	}
}
