package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/statebridge/statebridge/stream"
)

// progress is what others may ask a running Worker.
type progress struct {
	mu      sync.Mutex
	at      []Position    // of each table
	last    error         // of the attempt at hand, or errNothing; nil once the target moves
	ended   bool          // Run returned
	changed chan struct{} // closed and replaced with every change
}

// errNothing is no fault in itself: it is one for somebody who waits for an epoch.
var errNothing = errors.New("nothing is published that the sink could go on with")

func newProgress(tables int) progress {
	return progress{at: make([]Position, tables), changed: make(chan struct{})}
}

func (p *progress) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *progress) position(table int) Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[table]
}

func (p *progress) reach(table int, at Position) { p.set(func() { p.at[table], p.last = at, nil }) }
func (p *progress) fail(err error)               { p.set(func() { p.last = err }) }
func (p *progress) begin()                       { p.set(func() { p.ended, p.last = false, nil }) }
func (p *progress) end(err error)                { p.set(func() { p.ended, p.last = true, err }) }
func (p *progress) rest()                        { p.swap(nil, errNothing) }
func (p *progress) resume()                      { p.swap(errNothing, nil) }

func (p *progress) swap(was, is error) {
	p.set(func() {
		if errors.Is(p.last, was) {
			p.last = is
		}
	})
}

func (p *progress) get() (at []Position, last error, ended bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.at), p.last, p.ended, p.changed
}

// Failing gives the error for which the Worker tries again, or says that it has had nothing to do for a while.
func (w *Worker) Failing() error {
	_, last, _, _ := w.progress.get()
	return last
}

// Wait returns once the target has committed these epochs, or later ones of their chains, and has reported so to the registry. Epochs of other consumers
// are not waited for. It fails when Run ends before that, with Run's error.
func (w *Worker) Wait(ctx context.Context, epochs ...stream.Epoch) error {
	for {
		reached, changed, err := w.reached(epochs)
		if reached || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Reached is Wait for those who don't wait: without an error, false says that the Worker is still on its way.
func (w *Worker) Reached(epochs ...stream.Epoch) (bool, error) {
	reached, _, err := w.reached(epochs)
	return reached, err
}

func (w *Worker) reached(epochs []stream.Epoch) (reached bool, changed <-chan struct{}, err error) {
	at, last, ended, changed := w.progress.get()
	missing := w.missing(at, epochs)
	switch {
	case missing == nil:
		return true, changed, nil
	case ended && last != nil: // it names the sink
		err = fmt.Errorf("%w (the sink stopped before it had reached epoch %d)", last, missing.Number)
	case ended:
		err = fmt.Errorf("sink %q: consumer %q: it was stopped before it had reached epoch %d", w.name, missing.Consumer, missing.Number)
	}
	return false, changed, err
}

// missing gives an epoch that a table has not reached.
func (w *Worker) missing(at []Position, epochs []stream.Epoch) *stream.Epoch {
	for i := range epochs {
		e := &epochs[i]
		for j, t := range w.tables {
			if t.table.Consumer == e.Consumer && (at[j].Chain != e.Chain || at[j].Epoch < e.Number) {
				return e
			}
		}
	}
	return nil
}
