package sinktest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

func replacing(t *testing.T, target Target, columns ...stream.Column) *bench {
	t.Helper()
	target.Open = func(t testing.TB) sinks.Sink { return target.Bad(t, sinks.BadReplace) }
	return open(t, target, columns...)
}

// testReplaced: values that the target can't hold get their stand-ins, counted by column; those that it can stay. A comparison with the state finds no difference.
func testReplaced(t *testing.T, target Target) {
	b := replacing(t, target, columns("id* string", "s string", "n int64", "j json")...)
	rows := []string{
		`{"id":"a","s":"x\ud800y\udc00","n":1,"j":null}`, `{"id":"b","s":"fine \ud83d\ude00 \\ud800","n":2,"j":{"a":["\\u0000"]}}`,
	}
	want := []string{`{"id":"a","s":"x\ufffdy\ufffd","n":1}`, `{"id":"b","s":"fine \ud83d\ude00 \\ud800","n":2,"j":{"a":["\\u0000"]}}`}
	counts := map[string]uint64{"s": 1}
	if b.RefuseNUL {
		rows = append(rows, `{"id":"c","s":"\u0000","n":3,"j":{"a\u0000":["\udfff"]}}`)
		want = append(want, `{"id":"c","s":"\ufffd","n":3,"j":{"a\ufffd":["\ufffd"]}}`)
		counts = map[string]uint64{"s": 2, "j": 1}
	}
	for _, full := range []bool{true, false} {
		var changes []stream.Change
		for _, r := range rows {
			changes = append(changes, put('r', `{"id":"`+r[7:8]+`"}`, r))
		}
		b.applyCounting(full, counts, changes...)
		b.want(want...)
	}
	if found, err := b.verify(rows...); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", describe(found), err)
	}
}

// applyCounting takes the target one epoch further and compares how many values were replaced.
func (b *bench) applyCounting(full bool, want map[string]uint64, changes ...stream.Change) {
	b.Helper()
	tx, err := b.sink.Begin(b.Context(), b.table, b.at, b.next(full))
	if err == nil {
		err = tx.Apply(b.Context(), changes)
	}
	if err == nil {
		err = tx.Commit(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	got := tx.(interface{ Replaced() map[string]uint64 }).Replaced()
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("replaced (-want +got):\n%s", d)
	}
	b.locate()
}

// testKeysStay: a key is never replaced, it could become that of another row; nor is a null in it.
func testKeysStay(t *testing.T, target Target) {
	b := replacing(t, target, account...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1}`))
	for _, key := range []string{`{"id":"\ud800"}`, `{"id":null}`} {
		var refused *sinks.RowError
		err := b.try(b.next(false), put('c', key, key[:len(key)-1]+`,"balance":2}`))
		if !errors.As(err, &refused) || refused.Column != "id" && refused.Column != "" {
			t.Errorf("%s: %v", key, err)
		}
	}
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","balance":3}`))
	b.want(`{"id":"a","balance":3}`)
}
