package rocksdb

import (
	"bytes"

	"golang.org/x/sync/errgroup"
)

const (
	// lanes is how many look-ups are under way at once: where storage answers slowly it answers many.
	lanes = 16
	// perLane is how many keys a lane is worth having for. Neighbours may share a block.
	perLane = 8
	// A batch of questions has no more keys than this. It begins with few, since how large their rows are is seen only
	// when they have been looked up, and is kept to about so many bytes.
	batchKeys  = 1024
	firstBatch = 64
	batchBytes = 1 << 20
)

// question is a key whose rows may differ: its entries in the tables that one side has, then in the common ones too.
type question struct {
	key        []byte
	base, next History
	common     History
	sought     bool

	before, after []byte // the rows
	was, is       bool
}

func (q *question) size() int {
	return len(q.key) + cap(q.base.buf) + cap(q.next.buf) + cap(q.common.buf)
}

// fill gathers the next questions and looks them up; false at the end or at a fault.
func (d *Difference) fill() bool {
	d.start()
	old := d.batch[:cap(d.batch)]
	d.batch, d.at = d.batch[:0], 0
	for size := 0; len(d.batch) < d.limit && size < batchBytes && d.candidate(); {
		d.stats.Candidates++
		if sameHistory(&d.base.history, &d.next.history) {
			continue
		}
		var q question
		if n := len(d.batch); n < len(old) && old[n].size() < batchBytes/batchKeys {
			q = old[n] // for its memory
		}
		q.key = append(q.key[:0], d.key...)
		q.base, d.base.history = d.base.history, q.base
		q.next, d.next.history = d.next.history, q.next
		d.batch = append(d.batch, q)
		size += q.size()
	}
	return d.err == nil && len(d.batch) > 0 && d.lookUp() && d.adjust()
}

// adjust chooses the size of the next batch by what this one took.
func (d *Difference) adjust() bool {
	size := 1
	for i := range d.batch {
		size += d.batch[i].size()
	}
	fitting := int(int64(batchBytes) * int64(len(d.batch)) / int64(size))
	d.limit = max(1, min(2*d.limit, fitting, batchKeys))
	return true
}

// lookUp asks the common tables for the batch, in lanes of neighbouring keys.
func (d *Difference) lookUp() bool {
	var g errgroup.Group
	n := min(len(d.finders), (len(d.batch)+perLane-1)/perLane)
	for i := range n {
		lane := d.batch[i*len(d.batch)/n : (i+1)*len(d.batch)/n]
		g.Go(func() error {
			for j := range lane {
				if err := lane[j].lookUp(d.finders[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	d.err = g.Wait()
	for i := range d.batch {
		if d.batch[i].sought {
			d.stats.Sought++
		}
	}
	return d.err == nil
}

// lookUp adds to both sides what the common tables have above the older of the entries that decide.
func (q *question) lookUp(f *Finder) error {
	q.common.reset()
	err := f.gather(q.key, min(q.base.decided(), q.next.decided()), &q.common)
	q.sought = f.asked > 0
	q.base.join(&q.common)
	q.next.join(&q.common)
	return err
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
