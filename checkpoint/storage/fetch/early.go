package fetch

import (
	"context"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// early is a far file of which one part is under way before anybody asks for it.
type early struct {
	storage.File
	link   *Link
	cancel context.CancelFunc

	mu   sync.Mutex
	part *coming // nil once it was given, or has failed
}

// Early sends for n bytes at off of a far file, if there is memory to keep them in. The first read that lies within them takes
// them; all others go to the file. What is wrong with the part comes out when it is read. Closing the file ends what is under way.
func (l *Link) Early(ctx context.Context, f storage.File, off, n int64) storage.File {
	if Of(f) != l || n <= 0 || !l.tryEarly(n) {
		return f
	}
	e := &early{File: f, link: l, part: &coming{piece: piece{off, make([]byte, n)}, held: n, done: make(chan struct{})}}
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func(c *coming) {
		defer close(c.done)
		c.err = f.ReadAt(ctx, c.b, c.off)
	}(e.part)
	return e
}

func (l *Link) tryEarly(n int64) bool {
	if !l.early.TryAcquire(n) {
		return false
	}
	if !l.streams.TryAcquire(n) {
		l.early.Release(n)
		return false
	}
	return true
}

func (l *Link) releaseEarly(n int64) {
	l.early.Release(n)
	l.streams.Release(n)
}

func (e *early) ReadAt(ctx context.Context, p []byte, off int64) error {
	if c := e.take(off, len(p)); c != nil {
		defer e.link.releaseEarly(c.held)
		select {
		case <-c.done:
		case <-ctx.Done():
			e.cancel()
			<-c.done
			return ctx.Err()
		}
		if c.err == nil {
			copy(p, c.bytes(off, len(p)))
			return nil
		}
	}
	return e.File.ReadAt(ctx, p, off)
}

// take gives the part to the first who reads within it.
func (e *early) take(off int64, n int) *coming {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.part
	if c == nil || c.bytes(off, n) == nil {
		return nil
	}
	e.part = nil
	return c
}

// Close waits for a part that nobody took.
func (e *early) Close() error {
	e.cancel()
	e.mu.Lock()
	c := e.part
	e.part = nil
	e.mu.Unlock()
	if c != nil {
		<-c.done
		e.link.releaseEarly(c.held)
	}
	return e.File.Close()
}
