package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/state"
)

// Converter turns the rows of a table into bytes on several cores, in the order of Rows.
//
//	reader: cursor ──> batch ──┬──> worker: decode, append ──┬──> write, batch by batch in order
//	reader: cursor ──> batch ──┘──> worker: decode, append ──┘
//
// What lies between a cursor and Write is a fixed number of small batches, however large the table is. A huge row is decoded by whoever writes,
// when all before it is written, so there is but one at a time.
type Converter struct {
	// Workers is how many rows are decoded at once, as far as the memory allows; 0 stands for one on each core.
	Workers int
	// Memory bounds what is kept of rows on their way, but for a single huge one, in bytes; 0 stands for 64 MiB.
	Memory int
	// Append makes what appends a row to dst. Each worker has one of its own.
	Append func() func(dst []byte, r *state.Row) ([]byte, error)
	// Write takes what was appended for so many consecutive rows, which is valid until it returns.
	Write func(b []byte, rows int) error
}

// Convert converts the rows of a range of key groups. It returns when all that it started has ended.
func (t *Table) Convert(ctx context.Context, groups KeyGroups, c Converter) error {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory <= 0 {
		c.Memory = 64 << 20
	}
	c.Workers = min(c.Workers, MostWorkers(c.Memory))
	if err := t.convert(ctx, groups, c); err != nil {
		return fmt.Errorf("operator %s: %w", t.Operator, err)
	}
	return nil
}

func (t *Table) convert(ctx context.Context, groups KeyGroups, c Converter) error {
	readers := c.readers()
	ranges := t.ranges(groups, readers)
	readers = min(readers, len(ranges))
	g, ctx := errgroup.WithContext(ctx)
	work, lanes := make(chan *batch), make([]*lane, readers)
	var reading sync.WaitGroup
	for i := range lanes {
		lanes[i] = newLane(work)
		reading.Go(func() { lanes[i].readEach(ctx, t, ranges[i:], readers) })
	}
	for range c.Workers {
		g.Go(func() error {
			convertBatches(work, c.Append())
			return nil
		})
	}
	g.Go(func() error {
		for k := range ranges {
			if err := lanes[k%readers].write(ctx, &c); err != nil {
				return err
			}
		}
		return nil
	})
	reading.Wait()
	close(work)
	return g.Wait()
}

// workerMemory is what a worker takes: a batch that it decodes, a row, and what is made of both.
const workerMemory = 1 << 20

// MostWorkers is how many workers there is memory for.
func MostWorkers(memory int) int { return max(1, memory/workerMemory) }

// laneMemory is what a reader and its batches take.
const laneMemory = 8 << 20

// readers gives how many cursors are open side by side. To walk a RocksDB table takes about a quarter of what decoding it takes.
func (c *Converter) readers() int { return max(1, min(c.Workers/2, c.Memory/laneMemory)) }

// rangesPerReader is into how many pieces a reader's share is cut: many, as readers take turns and what one is ahead of another is buffered.
const rangesPerReader = 64

// ranges cuts a range of key groups into pieces for several readers.
func (t *Table) ranges(groups KeyGroups, readers int) []KeyGroups {
	n := min(readers*rangesPerReader, groups.Len())
	if readers == 1 || !t.Keyed() || n < 2 {
		return []KeyGroups{groups}
	}
	pieces := make([]KeyGroups, n)
	for i := range pieces {
		pieces[i] = KeyGroups{groups.First + i*groups.Len()/n, groups.First + (i+1)*groups.Len()/n - 1}
	}
	return pieces
}

// convertBatches is a worker.
func convertBatches(work <-chan *batch, appendRow func(dst []byte, r *state.Row) ([]byte, error)) {
	var row state.Row
	for b := range work {
		b.convert(&row, appendRow)
		b.done <- struct{}{}
	}
}

// lane is the way of one reader's batches: from the free ones to the reader, to a worker, to the writer, and back.
type lane struct {
	free, ready chan *batch // ready ones come in order, and nil ends a range
	made        int
	work        chan<- *batch
	passed      chan struct{} // a huge batch is written
}

// batchesAhead is how many batches of a reader are on their way.
const batchesAhead = 8

func newLane(work chan<- *batch) *lane {
	return &lane{free: make(chan *batch, batchesAhead), ready: make(chan *batch, batchesAhead+1), work: work, passed: make(chan struct{}, 1)}
}

// readEach reads every so manieth range. A fault travels behind the rows that came before it.
func (l *lane) readEach(ctx context.Context, t *Table, ranges []KeyGroups, step int) {
	for k := 0; k < len(ranges); k += step {
		if err := l.read(ctx, t, ranges[k]); err != nil {
			_ = send(ctx, l.ready, failed(err)) // once ctx has ended nobody asks any more
			return
		}
		if send(ctx, l.ready, nil) != nil {
			return
		}
	}
}

// read fills batches with the entries of a range.
func (l *lane) read(ctx context.Context, t *Table, groups KeyGroups) (err error) {
	c, err := t.Cursor(ctx, groups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for more := c.Next(); more; {
		b, err := l.take(ctx)
		if err != nil {
			return err
		}
		more = b.fill(c)
		if err := l.hand(ctx, b); err != nil {
			return err
		}
	}
	return c.Err()
}

// take gives an empty batch.
func (l *lane) take(ctx context.Context) (*batch, error) {
	if l.made < batchesAhead && len(l.free) == 0 {
		l.made++
		return newBatch(), nil
	}
	select {
	case b := <-l.free:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *lane) hand(ctx context.Context, b *batch) error {
	huge := b.huge() // it may be written, and empty again, once it is on its way
	if err := send(ctx, l.ready, b); err != nil {
		return err
	}
	if !huge {
		return send(ctx, l.work, b)
	}
	select {
	case <-l.passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func send(ctx context.Context, to chan<- *batch, b *batch) error {
	select {
	case to <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write hands on the batches of one range.
func (l *lane) write(ctx context.Context, c *Converter) error {
	for {
		var b *batch
		select {
		case b = <-l.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if b == nil {
			return nil
		}
		huge := b.huge()
		if huge {
			b.convert(new(state.Row), c.Append()) // whose memory nobody keeps
		} else if err := b.wait(ctx); err != nil {
			return err
		}
		if b.rows > 0 {
			if err := c.Write(b.out, b.rows); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		b.empty()
		l.free <- b
		if huge {
			l.passed <- struct{}{}
		}
	}
}
