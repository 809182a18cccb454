package rocksdb

import (
	"bytes"
	"context"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
)

// Split sorts the tables of one family of two databases, base and next, into those that both have and those that one
// has. A table is common only if its entries, their sequence numbers and its bounds are the same in both; what it is
// called does not matter.
type Split struct {
	Common   []FileMeta // as next has them
	OnlyBase []FileMeta
	OnlyNext []FileMeta
}

// Difference walks the keys whose visible values differ between two databases, ascending. It reads the tables that only one of them
// has; the common ones are asked for single keys, and only where the others do not decide. It works ahead of whoever looks at
// it, by a batch or two. It serves one goroutine, and must be closed.
//
// A row is a function of its key's entries and of the range tombstones above them. A key of which all of these lie in common tables has the
// same row on both sides. So only the keys in the other tables come into question, and those common ones that lie under a tombstone
// that the other side lacks. Nothing is concluded from sequence numbers across the two databases but the equality of
// whole entries, so they need not have a history in common: only tables.
type Difference struct {
	walk    *walk
	cancel  context.CancelFunc
	batches chan batch
	batch   batch
	at      int // the next question of it
	present *question
	stats   DifferenceStats
}

// DifferenceStats says what was looked at.
type DifferenceStats struct {
	Candidates int64 // keys that came into question
	Sought     int64 // of these, those that the common tables were asked for
	Walked     int64 // keys of common tables that lie under a range tombstone of one side
}

// Difference begins the walk over the keys in [lower, upper) of one family of db, which is next, against base.
func (db *DB) Difference(ctx context.Context, base *DB, s Split, lower, upper []byte) *Difference {
	outside := func(f FileMeta) bool { return !f.overlaps(lower, upper) }
	s.Common = slices.DeleteFunc(slices.Clone(s.Common), outside)
	s.OnlyBase = slices.DeleteFunc(slices.Clone(s.OnlyBase), outside)
	s.OnlyNext = slices.DeleteFunc(slices.Clone(s.OnlyNext), outside)
	d := &Difference{batches: make(chan batch)}
	ctx, d.cancel = context.WithCancel(ctx)
	d.walk = newWalk(ctx, base, db, s, bytes.Clone(lower), bytes.Clone(upper))
	go d.walk.run(d.batches)
	return d
}

// Next moves to the next key whose rows differ.
func (d *Difference) Next() bool {
	for {
		for d.at < len(d.batch.questions) {
			d.present = &d.batch.questions[d.at]
			d.at++
			if d.present.differs() {
				return true
			}
		}
		if d.batch.err != nil {
			return false
		}
		d.walk.reuse(d.batch.questions)
		more := false
		if d.batch, more = <-d.batches; !more {
			return false
		}
		d.at, d.stats = 0, d.batch.stats
	}
}

// Key gives the key, valid until the next Next.
func (d *Difference) Key() []byte { return d.present.key }

// Base gives the row in base, if it is there; valid until the next Next.
func (d *Difference) Base() (value []byte, found bool) { return d.present.before, d.present.was }

// Changed gives the row in next likewise.
func (d *Difference) Changed() (value []byte, found bool) { return d.present.after, d.present.is }

// Err gives the fault that ended the walk, or nil at its natural end.
func (d *Difference) Err() error { return d.batch.err }

// BaseFailed tells whether the fault lies in a table that only base has.
func (d *Difference) BaseFailed() bool { return d.batch.ofBase }

// Stats says what was looked at for what Next has come to.
func (d *Difference) Stats() DifferenceStats { return d.stats }

// Close ends the walk and lets go of the tables.
func (d *Difference) Close() error {
	close(d.walk.stopped)
	d.cancel()
	for range d.batches { // until the walk has seen it
	}
	return d.walk.close()
}

// sameHistory tells whether two sides say the same of a key down to what hides all that is older. Then, whatever the
// common tables add, the rows are the same.
func sameHistory(a, b *History) bool {
	if !slices.EqualFunc(a.Entries, b.Entries, func(x, y Entry) bool {
		return x.Seq == y.Seq && x.Kind == y.Kind && bytes.Equal(x.Value, y.Value)
	}) {
		return false
	}
	n := len(a.Entries)
	return n > 0 && a.Entries[n-1].Kind != ikey.Merge || a.Tombstone == b.Tombstone
}
