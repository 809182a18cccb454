package sinktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// Run is the conformance suite.
func Run(t *testing.T, target Target) {
	for name, law := range map[string]func(*testing.T, Target){
		"changes": testChanges, "full_replaces": testFullReplaces, "empty_epoch": testEmptyEpoch, "last_wins": testLastWins,
		"replay": testReplay, "rollback": testRollback, "zombie": testZombie, "fast_forward": testFastForward, "lost": testLost,
		"new_chain": testNewChain, "joint": testJoint, "joint_fenced": testJointFenced, "healed": testHealed, "many": testMany, "random": testRandom,
		"nulls": testNulls, "numbers": testNumbers, "floats": testFloats, "texts": testTexts, "types": testTypes, "odd_names": testOddNames, "composite": testComposite,
		"refusals": testRefusals, "twice": testTwice, "widens": testWidens, "gone_column": testGoneColumn,
		"drift_stops": testDriftStops, "drift_ignored": testDriftIgnored,
		"replaced": testReplaced, "keys_stay": testKeysStay, "spared": testSpared,
		"verify": testVerify, "verify_many": testVerifyMany,
	} {
		t.Run(name, func(t *testing.T) { law(t, target) })
	}
}

var account = columns("id* string", "balance int64")

func testChanges(t *testing.T, target Target) {
	b := open(t, target, account...)
	if b.at.Chain != "" || b.at.Epoch != 0 {
		t.Fatalf("a fresh target stands at %+v", b.at)
	}
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`), put('r', `{"id":"b"}`, `{"id":"b","balance":2}`))
	b.want(`{"id":"a","balance":1}`, `{"id":"b","balance":2}`)
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","balance":10}`), del(`{"id":"b"}`), put('c', `{"id":"c"}`, `{"id":"c","balance":3}`))
	b.want(`{"id":"a","balance":10}`, `{"id":"c","balance":3}`)
	want := sinks.Position{Chain: b.chain, Epoch: 2, Snapshot: b.at.Snapshot, Revision: b.at.Revision}
	if b.at != want || b.at.Snapshot.CheckpointID != 20 || b.at.Snapshot.Location != "chk-20" {
		t.Fatalf("position = %+v", b.at)
	}
}

func testFullReplaces(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`), put('r', `{"id":"b"}`, `{"id":"b","balance":2}`))
	b.apply(true, put('r', `{"id":"b"}`, `{"id":"b","balance":20}`), put('r', `{"id":"c"}`, `{"id":"c","balance":3}`))
	b.want(`{"id":"b","balance":20}`, `{"id":"c","balance":3}`)
	b.apply(true)
	b.want()
	if b.at.Epoch != 3 {
		t.Fatalf("an emptied state stands at %+v, want epoch 3", b.at)
	}
}

func testEmptyEpoch(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	b.apply(false)
	b.want(`{"id":"a","balance":1}`)
	if b.at.Epoch != 2 {
		t.Fatalf("position = %+v, want epoch 2", b.at)
	}
}

func testLastWins(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	b.apply(false,
		put('u', `{"id":"a"}`, `{"id":"a","balance":2}`), put('u', `{"id":"a"}`, `{"id":"a","balance":3}`),
		put('c', `{"id":"b"}`, `{"id":"b","balance":1}`), del(`{"id":"b"}`),
		del(`{"id":"c"}`), put('c', `{"id":"c"}`, `{"id":"c","balance":9}`))
	b.want(`{"id":"a","balance":3}`, `{"id":"c","balance":9}`)
}

func testReplay(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	from, to := b.at, b.next(false)
	changes := []stream.Change{put('u', `{"id":"a"}`, `{"id":"a","balance":2}`), put('c', `{"id":"b"}`, `{"id":"b","balance":2}`)}
	if err := b.try(to, changes...); err != nil {
		t.Fatal(err)
	}
	b.locate()
	if err := write(t.Context(), b.sink, b.table, from, to, changes); !errors.Is(err, sinks.ErrFenced) {
		t.Fatalf("a replay gives %v, want %v", err, sinks.ErrFenced)
	}
	b.want(`{"id":"a","balance":2}`, `{"id":"b","balance":2}`)
}

func testRollback(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	to := b.next(false)
	changes := []stream.Change{put('u', `{"id":"a"}`, `{"id":"a","balance":2}`), put('c', `{"id":"b"}`, `{"id":"b","balance":2}`)}
	tx, err := b.sink.Begin(t.Context(), b.table, b.at, to)
	if err == nil {
		err = tx.Apply(t.Context(), changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.Whole {
		b.want(`{"id":"a","balance":1}`)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Whole {
		b.want(`{"id":"a","balance":1}`)
	}
	b.sink = b.another() // as after a crash
	b.prepare()
	if b.at.Epoch != 1 {
		t.Fatalf("position = %+v, want epoch 1", b.at)
	}
	b.apply(false, changes...)
	b.want(`{"id":"a","balance":2}`, `{"id":"b","balance":2}`)
}

func testZombie(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	from, late := b.at, b.another()
	if err := late.Prepare(t.Context(), b.table); err != nil {
		t.Fatal(err)
	}
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","balance":2}`))
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","balance":3}`))
	for _, full := range []bool{false, true} {
		to := b.next(full)
		to.Number = 2
		err := write(t.Context(), late, b.table, from, to, []stream.Change{put('u', `{"id":"a"}`, `{"id":"a","balance":-1}`)})
		if !errors.Is(err, sinks.ErrFenced) {
			t.Fatalf("a zombie gets %v, want %v", err, sinks.ErrFenced)
		}
	}
	b.want(`{"id":"a","balance":3}`)
}

func testFastForward(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	b.apply(false)
	b.apply(false, del(`{"id":"a"}`), put('c', `{"id":"b"}`, `{"id":"b","balance":1}`))
	b.want(`{"id":"b","balance":1}`)
}

func testLost(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	to := b.next(false)
	b.Wipe(t, b.table)
	if err := b.try(to, put('c', `{"id":"z"}`, `{"id":"z","balance":1}`)); err == nil {
		t.Fatal("a delta is applied to a target that lost its rows")
	}
	at := b.locate()
	if at.Chain != "" || at.Epoch != 0 {
		t.Fatalf("a wiped target stands at %+v", at)
	}
	if b.Prefix == nil && (at.Revision == 0 || at.Lost == "") { // a database's position outlives its rows
		t.Fatalf("a wiped table stands at %+v and does not say why", at)
	}
	b.prepare()
	b.apply(true, put('r', `{"id":"b"}`, `{"id":"b","balance":2}`))
	b.want(`{"id":"b","balance":2}`)
}

func testNewChain(t *testing.T, target Target) {
	b := open(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	b.apply(false, put('c', `{"id":"b"}`, `{"id":"b","balance":2}`))
	b.chain, b.at.Epoch = "chain-2", 0 // the number starts again
	b.apply(true, put('r', `{"id":"c"}`, `{"id":"c","balance":3}`))
	b.want(`{"id":"c","balance":3}`)
	if b.at.Chain != "chain-2" || b.at.Epoch != 1 {
		t.Fatalf("position = %+v", b.at)
	}
}

// testMany is 40 000 rows of 12 columns in one epoch, more than any limit on parameters or batches.
func testMany(t *testing.T, target Target) {
	specs := []string{"id* int64"}
	for i := range 11 {
		specs = append(specs, fmt.Sprintf("c%d string", i))
	}
	b := open(t, target, columns(specs...)...)
	const n = 40_000
	var changes []stream.Change
	for i := range n {
		var row strings.Builder
		fmt.Fprintf(&row, `{"id":%d`, i)
		for c := range 11 {
			fmt.Fprintf(&row, `,"c%d":"value %d of %d"`, c, c, i)
		}
		changes = append(changes, put('r', fmt.Sprintf(`{"id":%d}`, i), row.String()+"}"))
	}
	b.apply(true, changes[:n/2]...)
	for i := range changes {
		changes[i].Op = 'c'
	}
	b.apply(false, changes...)
	got := b.Read(t, b.table)
	if len(got) != n {
		t.Fatalf("%d rows, want %d", len(got), n)
	}
	for _, r := range got {
		if len(r) != 12 || r["c10"] != "value 10 of "+r["id"] {
			t.Fatalf("row %v", r)
		}
	}
}
