package sinktest

import (
	"errors"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// part is one epoch of a transaction of several.
type part struct {
	*bench
	from    sinks.Position
	to      stream.Epoch
	changes []stream.Change
}

// joint applies parts in one transaction and leaves the commit to the caller.
func joint(b *bench, parts ...part) (tx sinks.Transaction, err error) {
	b.Helper()
	for i, p := range parts {
		if i == 0 {
			tx, err = b.sink.Begin(b.Context(), p.table, p.from, p.to)
		} else if err = tx.(sinks.Joint).Finish(b.Context()); err == nil {
			err = tx.(sinks.Joint).Then(b.Context(), p.table, p.from, p.to)
		}
		if err == nil {
			err = tx.Apply(b.Context(), p.changes)
		}
		if err != nil {
			break
		}
	}
	return tx, err
}

// sibling is another table of the same sink.
func (b *bench) sibling(name string, columns ...stream.Column) *bench {
	b.Helper()
	c := *b
	c.table, c.at = sinks.Table{Source: b.table.Source, Consumer: b.table.Consumer + name, Columns: columns}, sinks.Position{}
	c.prepare()
	return &c
}

// testJoint: several tables, and several epochs of one, change all at once or not at all.
func testJoint(t *testing.T, target Target) {
	a := open(t, target, account...)
	b := a.sibling("_b", columns("name* string", "n int64")...)
	tx, err := joint(a, part{a, a.at, a.next(true), nil})
	if err == nil {
		err = tx.Rollback(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tx.(sinks.Joint); ok != (target.Prefix == nil) {
		t.Fatalf("joint: %t, and databases alone are to be", ok)
	} else if !ok {
		return
	}
	first := []stream.Change{put('r', `{"id":"a"}`, `{"id":"a","balance":1}`)}
	if tx, err = joint(a, part{a, a.at, a.next(true), first}, part{b, b.at, b.next(true), []stream.Change{put('r', `{"name":"x"}`, `{"name":"x","n":1}`)}}); err != nil {
		t.Fatal(err)
	}
	if len(a.Read(t, a.table))+len(b.Read(t, b.table)) > 0 {
		t.Error("rows are seen before the commit")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.locate()
	b.locate()
	a.want(`{"id":"a","balance":1}`)
	b.want(`{"name":"x","n":1}`)

	// Two epochs of the first table, a full one of the second.
	two, three := a.next(false), a.next(false)
	three.Number++
	after := a.at
	after.Epoch, after.Snapshot, after.Revision = two.Number, two.Snapshot, after.Revision+1
	full := b.next(true)
	parts := []part{
		{a, a.at, two, []stream.Change{put('u', `{"id":"a"}`, `{"id":"a","balance":2}`), put('c', `{"id":"b"}`, `{"id":"b","balance":2}`)}},
		{a, after, three, []stream.Change{del(`{"id":"a"}`), put('u', `{"id":"b"}`, `{"id":"b","balance":3}`)}},
		{b, b.at, full, []stream.Change{put('r', `{"name":"y"}`, `{"name":"y","n":2}`)}},
	}
	if tx, err = joint(a, parts...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.want(`{"id":"a","balance":1}`)
	b.want(`{"name":"x","n":1}`)
	if tx, err = joint(a, parts...); err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	a.locate()
	b.locate()
	if a.at.Epoch != 3 || b.at.Epoch != 2 {
		t.Errorf("epochs %d and %d", a.at.Epoch, b.at.Epoch)
	}
	a.want(`{"id":"b","balance":3}`)
	b.want(`{"name":"y","n":2}`)
}

// testJointFenced: where one table has lost its place, nothing happens to the others.
func testJointFenced(t *testing.T, target Target) {
	if target.Prefix != nil {
		return
	}
	a := open(t, target, account...)
	b := a.sibling("_b", columns("name* string", "n int64")...)
	a.apply(true, put('r', `{"id":"b"}`, `{"id":"b","balance":3}`))
	b.apply(true, put('r', `{"name":"y"}`, `{"name":"y","n":2}`))

	// Epochs without changes, and one that leaves no row.
	tx, err := joint(a, part{a, a.at, a.next(false), nil}, part{b, b.at, b.next(true), nil})
	if err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	a.locate()
	b.locate()
	a.want(`{"id":"b","balance":3}`)
	b.want()

	stale := b.at
	b.apply(false, put('c', `{"name":"z"}`, `{"name":"z","n":3}`))
	late := b.next(false)
	late.Number = stale.Epoch + 1
	tx, err = joint(a, part{a, a.at, a.next(false), []stream.Change{del(`{"id":"b"}`)}}, part{b, stale, late, []stream.Change{del(`{"name":"z"}`)}})
	if !errors.Is(err, sinks.ErrFenced) {
		t.Fatalf("a zombie gets %v, want %v", err, sinks.ErrFenced)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.want(`{"id":"b","balance":3}`)
	b.want(`{"name":"z","n":3}`)
}
