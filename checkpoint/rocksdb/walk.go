package rocksdb

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// walk is the part of a Difference that reads: it gathers keys in question from the differing tables, looks them up in the
// common ones and sends them on. It has a goroutine of its own.
type walk struct {
	ctx        context.Context
	base, next side
	spans      covered
	finder     *Finder
	key        []byte
	limit      int // keys in the next batch
	keys       int // in any
	bytes      int // of any, about
	questions  []question
	asks       []Ask           // of them
	spare      chan []question // to be used again
	stopped    chan struct{}
	stats      DifferenceStats
	err        error
	ofBase     bool // err is
}

// batch is a number of keys that were looked up, ascending. With an error it has none, and is the last.
type batch struct {
	questions []question
	stats     DifferenceStats // up to here
	err       error
	ofBase    bool
}

func newWalk(ctx context.Context, base, next *DB, s Split, lower, upper []byte) *walk {
	w := &walk{ctx: ctx, limit: firstBatch, keys: batchKeys, bytes: batchBytes, spare: make(chan []question, 2), stopped: make(chan struct{}), finder: next.Finder(ctx, s.Common)}
	if next.link.Far() {
		w.limit, w.keys = farBatch*batchKeys, farBatch*batchKeys
		w.bytes = int(min(farBatch*batchBytes, next.link.Memory()/4))
	}
	w.base = side{db: base, files: s.OnlyBase, lower: lower, upper: upper}
	w.next = side{db: next, files: s.OnlyNext, lower: lower, upper: upper}
	w.spans = covered{ctx: ctx, db: next, files: s.Common}
	return w
}

// run sends batches until the end or a fault, which is sent too, or until it is stopped.
func (w *walk) run(out chan<- batch) {
	defer close(out)
	w.open()
	for w.err == nil && w.fill() {
		for rest := w.questions; len(rest) > 0 && w.err == nil; {
			n := w.lookUp(rest)
			if !w.send(out, batch{questions: rest[:n:n], stats: w.stats}) {
				return
			}
			rest = rest[n:]
		}
	}
	if w.err != nil {
		w.send(out, batch{stats: w.stats, err: w.err, ofBase: w.ofBase})
	}
}

func (w *walk) send(out chan<- batch, b batch) bool {
	select {
	case out <- b:
		return true
	case <-w.stopped:
		return false
	}
}

// reuse takes questions back whose rows nobody looks at any more.
func (w *walk) reuse(q []question) {
	select {
	case w.spare <- q:
	default:
	}
}

func (w *walk) close() error {
	return errors.Join(w.base.close(), w.next.close(), w.spans.close(), w.finder.Close())
}

// open opens both sides, and far tables that are common beside them, as these are likely to be asked.
func (w *walk) open() {
	var g sync.WaitGroup
	g.Go(func() { w.base.open(w.ctx) })
	g.Go(func() { w.next.open(w.ctx) })
	g.Go(func() { w.finder.warm(w.spans.files) })
	if g.Wait(); !w.sound() {
		return
	}
	w.spans.spans = clip(differing(w.base.cover.spans, w.next.cover.spans), w.base.lower, w.base.upper)
	w.spans.step()
}

// candidate moves to the next key in question and gathers what the tables of one side say of it. The end of a side counts
// only when no fault brought it about.
func (w *walk) candidate() bool {
	if !w.sound() {
		return false
	}
	least := w.base.head()
	for _, head := range [][]byte{w.next.head(), w.spans.head()} {
		if head != nil && (least == nil || bytes.Compare(head, least) < 0) {
			least = head
		}
	}
	if least == nil {
		return false
	}
	w.key = append(w.key[:0], least...)
	w.base.gather(w.key)
	w.next.gather(w.key)
	if w.spans.pass(w.key) {
		w.stats.Walked++
	}
	return w.sound()
}

// sound keeps the first fault of the walks.
func (w *walk) sound() bool {
	if w.err != nil {
		return false
	}
	if w.err = w.base.err(); w.err != nil {
		w.ofBase = true
		return false
	}
	if w.err = w.next.err(); w.err == nil {
		w.err = w.spans.err
	}
	return w.err == nil
}
