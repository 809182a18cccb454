package differ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/state"
)

// Table is what a diff reads; *checkpoint.Table is one.
type Table interface {
	// Cursor walks the entries of a range of key groups in the order of their composite keys.
	Cursor(ctx context.Context, groups checkpoint.KeyGroups) (checkpoint.Cursor, error)
	// MaxParallelism is the number of key groups.
	MaxParallelism() int
}

// Options tune a diff; the zero value works.
type Options struct {
	TempDir string            // for sorting, when the keys have other bytes on each side; "" is the system's
	Memory  *spill.Memory     // to sort in; nil is the sorter's default
	Method  checkpoint.Method // Auto takes whichever reads less; Merge never takes another
	Explain func(Step)        // is told of each step once it is done; nil: nobody asks
}

// Diff gives the changes that turn base into next within a range of key groups, in the order of the composite keys. A nil
// base gives every row of next as Read. An error is the last pair; what came before it is not the whole diff and must not
// be used as one.
//
// Of tables whose files are known, those are not read that both have, where that costs less.
//
// Where the same row may have other bytes for a key on each side, since the max parallelism or the serializer of the keys changed, groups must be the whole range of
// next, and the order is that of the keys' JSON.
func Diff(ctx context.Context, base, next Table, groups checkpoint.KeyGroups, o Options) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		d := &diff{yield: yield, options: o}
		if err := d.run(ctx, base, next, groups); err != nil {
			yield(Change{}, err)
		}
	}
}

// diff is one run: two rows that are reused, and what is known of pairs of schemas.
type diff struct {
	yield         func(Change, error) bool
	options       Options
	before, after state.Row
	same          map[[2]*state.Schema]bool
	stopped       bool
}

func (d *diff) run(ctx context.Context, base, next Table, groups checkpoint.KeyGroups) error {
	if why := otherKeys(base, next); why != "" {
		if groups != checkpoint.AllKeyGroups(next.MaxParallelism()) {
			return fmt.Errorf("%s: only the whole table can be compared", why)
		}
		return d.rekeyed(ctx, base, next, why)
	}
	before, known := base.(*checkpoint.Table)
	after, both := next.(*checkpoint.Table)
	if known && both && before != nil {
		return d.steps(ctx, before, after, groups)
	}
	return d.rows(ctx, base, next, groups)
}

// otherKeys says why the same row may have other bytes for a key on each side; "" if it can't.
func otherKeys(base, next Table) string {
	if base == nil {
		return ""
	}
	if a, b := base.MaxParallelism(), next.MaxParallelism(); a != b {
		return fmt.Sprintf("max parallelism changed from %d to %d", a, b)
	}
	before, known := base.(*checkpoint.Table)
	if after, both := next.(*checkpoint.Table); known && both && !before.SameKeys(after) {
		return "the serializer of the keys changed"
	}
	return ""
}

// rows reads all rows of both sides.
func (d *diff) rows(ctx context.Context, base, next Table, groups checkpoint.KeyGroups) (err error) {
	after, err := next.Cursor(ctx, groups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.Close()) }()
	if base == nil {
		return d.full(after)
	}
	before, err := base.Cursor(ctx, groups)
	if err != nil {
		return &BaseError{err}
	}
	defer func() { err = errors.Join(err, before.Close()) }()
	return d.merge(before, after)
}

func (d *diff) full(after checkpoint.Cursor) error {
	for !d.stopped && after.Next() {
		if err := d.emit(Read, nil, after); err != nil {
			return err
		}
	}
	return after.Err()
}

// merge walks both sides by key. A side that ends early through a fault must not look like deletes, so its error is
// looked at before anything is concluded from its end.
func (d *diff) merge(before, after checkpoint.Cursor) error {
	b, a := before.Next(), after.Next()
	for !d.stopped {
		if err := sideErr(before, b); err != nil {
			return &BaseError{err}
		}
		if err := sideErr(after, a); err != nil {
			return err
		}
		if !b && !a {
			return nil
		}
		order := compare(before, after, b, a)
		var err error
		switch {
		case order < 0:
			err = d.emit(Delete, before, nil)
		case order > 0:
			err = d.emit(Create, nil, after)
		default:
			err = d.changed(before, after)
		}
		if err != nil {
			return err
		}
		if order <= 0 {
			b = before.Next()
		}
		if order >= 0 {
			a = after.Next()
		}
	}
	return nil
}

func sideErr(c checkpoint.Cursor, more bool) error {
	if more {
		return nil
	}
	return c.Err()
}

func compare(before, after checkpoint.Cursor, b, a bool) int {
	switch {
	case !a:
		return -1
	case !b:
		return 1
	}
	return bytes.Compare(before.Key(), after.Key())
}

// changed emits an Update when the values of one key differ logically.
func (d *diff) changed(before, after checkpoint.Entry) error {
	same := d.sameCodecs(before.Schema(), after.Schema())
	if same && bytes.Equal(before.Value(), after.Value()) {
		return nil
	}
	if err := decode(&d.before, before); err != nil {
		return &BaseError{err}
	}
	if err := decode(&d.after, after); err != nil {
		return err
	}
	if bytes.Equal(d.before.Value, d.after.Value) || !same && equalJSON(d.before.Value, d.after.Value) {
		return nil
	}
	d.send(Change{Op: Update, Before: &d.before, After: &d.after})
	return nil
}

func (d *diff) emit(op Op, before, after checkpoint.Entry) error {
	c := Change{Op: op}
	if before != nil {
		if err := decode(&d.before, before); err != nil {
			return &BaseError{err}
		}
		c.Before = &d.before
	}
	if after != nil {
		if err := decode(&d.after, after); err != nil {
			return err
		}
		c.After = &d.after
	}
	d.send(c)
	return nil
}

func (d *diff) send(c Change) { d.stopped = !d.yield(c, nil) }

func decode(row *state.Row, c checkpoint.Entry) error {
	s, key := c.Schema(), c.Key()
	if r, ok := c.(*resorted); ok {
		key = r.FullKey()
	}
	if err := s.DecodeKey(row, key); err != nil {
		return err
	}
	return s.DecodeValue(row, c.Value())
}

// sameCodecs says whether equal bytes mean equal values: the codecs of both sides must agree to the last constant of
// an enum. Each pair of schemas is looked at once.
func (d *diff) sameCodecs(a, b *state.Schema) bool {
	if a == b {
		return true
	}
	pair := [2]*state.Schema{a, b}
	same, known := d.same[pair]
	if !known {
		same = reflect.DeepEqual(a.Value, b.Value) && a.TTL == b.TTL
		if d.same == nil {
			d.same = map[[2]*state.Schema]bool{}
		}
		d.same[pair] = same
	}
	return same
}
