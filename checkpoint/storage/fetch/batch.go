package fetch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Want is what is needed of one file, and where it lies once it has come.
type Want struct {
	File  storage.File
	Spans []Span // in any order
	Stage Stage
}

// Batch is what is fetched together. The stages of its wants are empty again once it is done.
type Batch struct {
	Spans, Ranges int64 // what is needed, and by how many requests it comes

	link   *Link
	wants  []*Want
	reads  []read
	arena  []byte
	weight int64

	cancel  context.CancelFunc
	workers sync.WaitGroup
	once    sync.Once
	failed  atomic.Bool
	err     error
}

// Memory is how many bytes a batch should want at most.
func (l *Link) Memory() int64 { return l.memory }

// Fetch sends for all that is wanted, side by side, the first first; whoever looks on a stage waits for what lies there. Fetch itself
// waits while other batches take up the memory; one that wants more than there is at all goes alone. Every Batch must be Done.
func (l *Link) Fetch(ctx context.Context, wants []*Want) (*Batch, error) {
	b := &Batch{link: l, wants: wants, cancel: func() {}}
	if len(wants) == 0 {
		return b, nil
	}
	files := make([][]Span, len(wants))
	for i, w := range wants {
		slices.SortFunc(w.Spans, func(a, b Span) int { return cmp.Compare(a.Off, b.Off) })
		files[i] = w.Spans
		b.Spans += int64(len(w.Spans))
	}
	files = l.plan(files)
	total := size(files)
	b.Ranges, b.weight = count(files), min(total, l.memory)
	if err := l.batches.Acquire(ctx, b.weight); err != nil {
		l.answered(int(b.Ranges), true)
		return nil, err
	}
	b.arena = arena(total)
	b.lay(files)
	b.start(ctx)
	return b, nil
}

// lay gives each range its place in the arena and on its stage.
func (b *Batch) lay(files [][]Span) {
	rest := b.arena
	b.reads = make([]read, 0, b.Ranges)
	for i, w := range b.wants {
		w.Stage.reset()
		for _, r := range files[i] {
			var p []byte
			p, rest = rest[:r.Len:r.Len], rest[r.Len:]
			b.reads = append(b.reads, read{file: w.File, coming: coming{piece: piece{r.Off, p}}})
			w.Stage.pieces = append(w.Stage.pieces, &b.reads[len(b.reads)-1].coming)
		}
	}
}

type read struct {
	coming
	file storage.File
}

// perWorker is how many requests to a near file a goroutine is worth having for.
const perWorker = 8

// start begins the reads. A few near ones are done before it returns.
func (b *Batch) start(ctx context.Context) {
	workers := min(len(b.reads), b.link.lanes)
	if !b.link.Far() {
		workers = min(workers, (len(b.reads)+perWorker-1)/perWorker)
	}
	ctx, b.cancel = context.WithCancel(ctx)
	var next atomic.Int64
	if workers == 1 && !b.link.Far() {
		b.readSome(ctx, &next)
		b.link.answered(0, true)
		return
	}
	for i := range b.reads {
		b.reads[i].done = make(chan struct{})
	}
	var left atomic.Int64
	left.Store(int64(workers))
	for range workers {
		b.workers.Go(func() {
			b.readSome(ctx, &next)
			if left.Add(-1) == 0 {
				b.link.answered(0, true)
			}
		})
	}
}

// readSome takes one read after the other, beside others that do the same. Once one has failed none is begun, but all end.
func (b *Batch) readSome(ctx context.Context, next *atomic.Int64) {
	for i := next.Add(1) - 1; i < int64(len(b.reads)); i = next.Add(1) - 1 {
		r := &b.reads[i]
		if r.err = ctx.Err(); r.err == nil {
			r.err = r.file.ReadAt(ctx, r.b, r.off)
		}
		if r.err != nil {
			b.fail(r.err)
		}
		b.link.answered(1, false)
		if r.done != nil {
			close(r.done)
		}
	}
}

// fail keeps the first error and ends what else is under way.
func (b *Batch) fail(err error) {
	b.once.Do(func() {
		b.err = err
		b.failed.Store(true)
		b.cancel()
	})
}

// Failed tells whether something will not come: to look for it elsewhere is in vain.
func (b *Batch) Failed() bool { return b.failed.Load() }

// Wait gives the first error once all has come.
func (b *Batch) Wait() error {
	b.workers.Wait()
	return b.err
}

// Yield lets other batches have the memory, though what came stays until Done. It is for what is small: whoever holds memory must
// not fetch more.
func (b *Batch) Yield() {
	b.link.batches.Release(b.weight)
	b.weight = 0
}

// Done ends what is still under way and gives the memory back.
func (b *Batch) Done() {
	b.cancel()
	b.workers.Wait()
	for _, w := range b.wants {
		w.Stage.reset()
	}
	b.Yield()
	if spare := b.arena; cap(spare) <= maxSpare {
		arenas.Put(&spare)
	}
	b.wants, b.reads, b.arena = nil, nil, nil
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
