package sinks

import (
	"context"
	"fmt"
	"sync"
)

// progress is what others may ask a running Worker.
type progress struct {
	mu      sync.Mutex
	at      Position
	last    error         // of the attempt at hand; nil once the target moves
	ended   bool          // Run returned
	changed chan struct{} // closed and replaced with every change
}

func newProgress() progress { return progress{changed: make(chan struct{})} }

func (p *progress) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *progress) moves(at Position) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at.Chain != at.Chain || p.at.Epoch != at.Epoch
}

func (p *progress) reach(at Position) { p.set(func() { p.at, p.last = at, nil }) }
func (p *progress) fail(err error)    { p.set(func() { p.last = err }) }
func (p *progress) begin()            { p.set(func() { p.ended, p.last = false, nil }) }
func (p *progress) end(err error)     { p.set(func() { p.ended, p.last = true, err }) }

func (p *progress) get() (at Position, last error, ended bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at, p.last, p.ended, p.changed
}

// Status says where the target stands, and the error that it is retried for, if any.
func (w *Worker) Status() (Position, error) {
	at, last, _, _ := w.progress.get()
	return at, last
}

// Wait returns once the target has committed an epoch of a chain, or a later one, and has reported so to the registry.
// It fails when Run ends before that, with Run's error.
func (w *Worker) Wait(ctx context.Context, chain string, epoch uint64) error {
	for {
		at, last, ended, changed := w.progress.get()
		if at.Chain == chain && at.Epoch >= epoch {
			return nil
		}
		switch {
		case ended && last != nil: // it names the sink
			return fmt.Errorf("%w (the sink stopped before it had reached epoch %d)", last, epoch)
		case ended:
			return fmt.Errorf("sink %q: consumer %q: it was stopped before it had reached epoch %d", w.name, w.table.Consumer, epoch)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
