package rocksdb

import "bytes"

const (
	// A batch of questions has no more keys than this, nor many more bytes. That of near files begins with few, since how large their rows are
	// is seen only when they have been looked up.
	batchKeys  = 1024
	firstBatch = 64
	batchBytes = 1 << 20
	// Of far files a batch takes this many times as much, from the first on: each waits for its requests. What is looked up at once is bounded
	// by the memory of the link then.
	farBatch = 16
)

// question is a key whose rows may differ: its entries in the tables that one side has, then in the common ones too.
type question struct {
	key        []byte
	base, next History
	common     History

	before, after []byte // the rows
	was, is       bool
}

func (q *question) size() int {
	return len(q.key) + cap(q.base.buf) + cap(q.next.buf) + cap(q.common.buf)
}

// fill gathers the next questions; false at the end or at a fault.
func (w *walk) fill() bool {
	w.questions = nil
	select {
	case w.questions = <-w.spare:
	default:
	}
	old := w.questions[:cap(w.questions)]
	w.questions = w.questions[:0]
	for size := 0; len(w.questions) < w.limit && size < w.bytes && w.candidate(); {
		w.stats.Candidates++
		if sameHistory(&w.base.history, &w.next.history) {
			continue
		}
		var q question
		if n := len(w.questions); n < len(old) && old[n].size() < batchBytes/batchKeys {
			q = old[n] // for its memory
		}
		q.key = append(q.key[:0], w.key...)
		q.base, w.base.history = w.base.history, q.base
		q.next, w.next.history = w.next.history, q.next
		w.questions = append(w.questions, q)
		size += q.size()
	}
	return w.err == nil && len(w.questions) > 0
}

// lookUp asks the common tables for as many of the questions as fit the memory, and gives their number.
func (w *walk) lookUp(list []question) (n int) {
	w.asks = w.asks[:0]
	for i := range list {
		q := &list[i]
		q.common.reset()
		// what is older than both of the entries that decide does not matter
		w.asks = append(w.asks, Ask{Key: q.key, Floor: min(q.base.decided(), q.next.decided()), History: &q.common})
	}
	if n, w.err = w.finder.Gather(w.asks); w.err != nil {
		return 0
	}
	size := 1
	for i := range list[:n] {
		q := &list[i]
		if w.asks[i].Tables > 0 {
			w.stats.Sought++
		}
		q.base.join(&q.common)
		q.next.join(&q.common)
		size += q.size()
	}
	// The size of the next batch follows what this one took.
	w.limit = max(1, min(2*w.limit, int(int64(w.bytes)*int64(n)/int64(size)), w.keys))
	return n
}

// join adds what other tables say of the key.
func (h *History) join(o *History) {
	h.Tombstone = max(h.Tombstone, o.Tombstone)
	if len(o.Entries) > 0 {
		h.Entries = append(h.Entries, o.Entries...)
		h.sort()
	}
}

// differs compares what is visible.
func (q *question) differs() bool {
	q.before, q.was = q.base.Resolve()
	q.after, q.is = q.next.Resolve()
	return q.was != q.is || !bytes.Equal(q.before, q.after)
}
