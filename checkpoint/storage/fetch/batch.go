package fetch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Want is what is needed of one file, and where it lies once it has come.
type Want struct {
	File  storage.File
	Spans []Span // in any order
	Stage Stage
}

// Batch is what was fetched together. The stages of its wants are empty again once it is done.
type Batch struct {
	Spans, Ranges int64 // what was needed, and by how many requests it came

	link   *Link
	wants  []*Want
	arena  []byte
	weight int64
}

// Memory is how many bytes a batch should want at most.
func (l *Link) Memory() int64 { return l.memory }

// Fetch brings all that is wanted, side by side, the first first. It waits while other batches take up the memory; one that
// wants more than there is at all goes alone. An error leaves nothing fetched.
func (l *Link) Fetch(ctx context.Context, wants []*Want) (*Batch, error) {
	b := &Batch{link: l, wants: wants}
	if len(wants) == 0 {
		return b, nil
	}
	files := make([][]Span, len(wants))
	for i, w := range wants {
		slices.SortFunc(w.Spans, func(a, b Span) int { return cmp.Compare(a.Off, b.Off) })
		files[i] = w.Spans
		b.Spans += int64(len(w.Spans))
	}
	c := l.Cost()
	c.Lanes = max(1, c.Lanes/int(l.busy.Add(1)))
	defer l.busy.Add(-1)
	files = plan(files, c, l.memory)
	total := size(files)
	b.Ranges, b.weight = count(files), min(total, l.memory)
	if err := l.batches.Acquire(ctx, b.weight); err != nil {
		return nil, err
	}
	b.arena = arena(total)
	if err := b.read(ctx, b.lay(files)); err != nil {
		b.Done()
		return nil, err
	}
	return b, nil
}

// lay gives each range its place in the arena and on its stage.
func (b *Batch) lay(files [][]Span) (reads []read) {
	rest := b.arena
	for i, w := range b.wants {
		w.Stage.reset()
		for _, r := range files[i] {
			var p []byte
			p, rest = rest[:r.Len:r.Len], rest[r.Len:]
			w.Stage.add(r.Off, p)
			reads = append(reads, read{w.File, r.Off, p})
		}
	}
	return reads
}

type read struct {
	file storage.File
	off  int64
	p    []byte
}

// perWorker is how many requests to a near file a goroutine is worth having for.
const perWorker = 8

func (b *Batch) read(ctx context.Context, reads []read) error {
	workers := min(len(reads), b.link.lanes)
	if !b.link.Far() {
		workers = min(workers, (len(reads)+perWorker-1)/perWorker)
	}
	var next atomic.Int64
	if workers == 1 {
		return readSome(ctx, reads, &next)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error { return readSome(ctx, reads, &next) })
	}
	return g.Wait()
}

// readSome takes one read after the other, beside others that do the same.
func readSome(ctx context.Context, reads []read, next *atomic.Int64) error {
	for {
		i := int(next.Add(1)) - 1
		if i >= len(reads) {
			return nil
		}
		if err := reads[i].file.ReadAt(ctx, reads[i].p, reads[i].off); err != nil {
			return err
		}
	}
}

// Yield lets other batches have the memory, though what came stays until Done. It is for what is small: whoever holds memory must
// not fetch more.
func (b *Batch) Yield() {
	b.link.batches.Release(b.weight)
	b.weight = 0
}

// Done gives the memory back.
func (b *Batch) Done() {
	for _, w := range b.wants {
		w.Stage.reset()
	}
	b.Yield()
	if cap(b.arena) <= maxSpare {
		arenas.Put(&b.arena)
	}
	b.wants, b.arena = nil, nil
}

// maxSpare bounds what is kept for the next batch.
const maxSpare = 8 << 20

var arenas sync.Pool

func arena(n int64) []byte {
	if b, ok := arenas.Get().(*[]byte); ok && int64(cap(*b)) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}
