package rocksdb

import (
	"bytes"
	"context"
	"errors"
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
// has; the common ones are asked for single keys, and only where the others do not decide. It serves one
// goroutine, and must be closed.
//
// A row is a function of its key's entries and of the range tombstones above them. A key of which all of these lie in common tables has the
// same row on both sides. So only the keys in the other tables come into question, and those common ones that lie under a tombstone
// that the other side lacks. Nothing is concluded from sequence numbers across the two databases but the equality of
// whole entries, so they need not have a history in common: only tables.
type Difference struct {
	base, next side
	spans      covered
	finders    []*Finder
	key        []byte
	batch      []question // gathered and looked up, in the order of keys
	at         int        // the next of batch
	limit      int        // keys in the next batch
	present    *question
	stats      DifferenceStats
	baseFailed bool
	err        error
}

// DifferenceStats says what was looked at.
type DifferenceStats struct {
	Candidates int64 // keys that came into question
	Sought     int64 // of these, those that the common tables were asked for
	Walked     int64 // keys of common tables that lie under a range tombstone of one side
}

// Difference opens the walk over the keys in [lower, upper) of one family of db, which is next, against base. An error is
// of base if baseFailed says so.
func (db *DB) Difference(ctx context.Context, base *DB, s Split, lower, upper []byte) (d *Difference, baseFailed bool, err error) {
	outside := func(f FileMeta) bool { return !f.overlaps(lower, upper) }
	s.Common = slices.DeleteFunc(slices.Clone(s.Common), outside)
	s.OnlyBase = slices.DeleteFunc(slices.Clone(s.OnlyBase), outside)
	s.OnlyNext = slices.DeleteFunc(slices.Clone(s.OnlyNext), outside)
	d = &Difference{limit: firstBatch}
	for range lanes {
		d.finders = append(d.finders, db.Finder(ctx, s.Common))
	}
	if err := d.base.open(ctx, base, s.OnlyBase, lower, upper); err != nil {
		return nil, true, errors.Join(err, d.Close())
	}
	if err := d.next.open(ctx, db, s.OnlyNext, lower, upper); err != nil {
		return nil, false, errors.Join(err, d.Close())
	}
	d.spans = covered{ctx: ctx, db: db, files: s.Common, spans: clip(differing(d.base.cover.spans, d.next.cover.spans), lower, upper)}
	return d, false, nil
}

// Next moves to the next key whose rows differ.
func (d *Difference) Next() bool {
	for {
		for d.at < len(d.batch) {
			d.present = &d.batch[d.at]
			d.at++
			if d.present.differs() {
				return true
			}
		}
		if !d.fill() {
			return false
		}
	}
}

// Key gives the key, valid until the next Next.
func (d *Difference) Key() []byte { return d.present.key }

// Base gives the row in base, if it is there; valid until the next Next.
func (d *Difference) Base() (value []byte, found bool) { return d.present.before, d.present.was }

// Changed gives the row in next likewise.
func (d *Difference) Changed() (value []byte, found bool) { return d.present.after, d.present.is }

// Err gives the fault that ended the walk, or nil at its natural end.
func (d *Difference) Err() error { return d.err }

// BaseFailed tells whether the fault lies in a table that only base has.
func (d *Difference) BaseFailed() bool { return d.baseFailed }

// Stats says what was looked at so far.
func (d *Difference) Stats() DifferenceStats { return d.stats }

// Close lets go of the tables.
func (d *Difference) Close() error {
	d.batch, d.at = nil, 0
	errs := []error{d.base.close(), d.next.close(), d.spans.close()}
	for _, f := range d.finders {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (d *Difference) start() {
	if d.base.started {
		return
	}
	d.base.started, d.next.started = true, true
	d.base.step()
	d.next.step()
	d.spans.step()
}

// candidate moves to the next key in question and gathers what the tables of one side say of it. The end of a side counts
// only when no fault brought it about.
func (d *Difference) candidate() bool {
	if !d.sound() {
		return false
	}
	least := d.base.head()
	for _, head := range [][]byte{d.next.head(), d.spans.head()} {
		if head != nil && (least == nil || bytes.Compare(head, least) < 0) {
			least = head
		}
	}
	if least == nil {
		return false
	}
	d.key = append(d.key[:0], least...)
	d.base.gather(d.key)
	d.next.gather(d.key)
	if d.spans.pass(d.key) {
		d.stats.Walked++
	}
	return d.sound()
}

// sound keeps the first fault of the walks.
func (d *Difference) sound() bool {
	if d.err == nil && d.base.err() != nil {
		d.err, d.baseFailed = d.base.err(), true
	}
	if d.err == nil {
		d.err = d.next.err()
	}
	if d.err == nil {
		d.err = d.spans.err
	}
	return d.err == nil
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

// side is what one database has besides the common tables.
type side struct {
	cursor  *InternalCursor
	cover   cover
	started bool
	more    bool
	history History
}

func (s *side) open(ctx context.Context, db *DB, files []FileMeta, lower, upper []byte) (err error) {
	if s.cover.spans, err = db.Tombstones(ctx, files); err != nil {
		return err
	}
	s.cursor, err = db.InternalCursor(ctx, files, lower, upper)
	return err
}

func (s *side) step() { s.more = s.cursor.Next() }

func (s *side) err() error { return s.cursor.Err() }

// head gives the key that the side stands at, nil at its end.
func (s *side) head() []byte {
	if !s.more {
		return nil
	}
	return nonNil(s.cursor.Key())
}

// gather takes the entries of a key, newest first, down to the first that hides all others, and passes the rest.
func (s *side) gather(key []byte) {
	h := &s.history
	h.reset()
	h.Tombstone = s.cover.seq(key)
	for ended := false; s.more && bytes.Equal(s.cursor.Key(), key); s.step() {
		if ended = ended || s.cursor.Seq() < h.Tombstone; !ended {
			h.put(s.cursor.Seq(), s.cursor.Kind(), s.cursor.Value())
			ended = s.cursor.Kind() != ikey.Merge
		}
	}
}

func (s *side) close() error {
	if s.cursor == nil {
		return nil
	}
	return s.cursor.Close()
}

// nonNil keeps the empty key apart from no key.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
