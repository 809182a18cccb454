package sinktest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// testSpared: an epoch goes on without the rows that the table's owner keeps. What the target held of them is deleted; an owner that can't keep one refuses the epoch.
func testSpared(t *testing.T, target Target) {
	b := open(t, target, columns("id* string", "s string", "n int64")...)
	var kept []string
	keep := func(_ context.Context, c stream.Change, why *sinks.RowError) error {
		kept = append(kept, fmt.Sprintf("%c %d %s", c.Op, why.Seq, c.Key))
		return nil
	}
	b.table.Refused = keep
	bad := func(op byte, id string, seq uint64) stream.Change {
		c := put(op, `{"id":"`+id+`"}`, `{"id":"`+id+`","s":"half a text \ud800","n":1}`)
		c.Seq = seq
		return c
	}
	nameless := put('r', `{"id":null}`, `{"id":null,"s":"x","n":1}`)
	b.apply(true, bad('r', "x", 1), put('r', `{"id":"a"}`, `{"id":"a","s":"one","n":1}`), nameless, put('r', `{"id":"b"}`, `{"id":"b","s":"two","n":2}`), bad('r', "y", 5))
	b.want(`{"id":"a","s":"one","n":1}`, `{"id":"b","s":"two","n":2}`)
	b.apply(false, put('u', `{"id":"b"}`, `{"id":"b","s":"three","n":3}`), bad('u', "a", 7), bad('c', "z", 8), del(`{"id":null}`), put('u', `{"id":"x"}`, `{"id":"x","s":"fits","n":9}`))
	b.want(`{"id":"b","s":"three","n":3}`, `{"id":"x","s":"fits","n":9}`)
	want := []string{`r 1 {"id":"x"}`, `r 0 {"id":null}`, `r 5 {"id":"y"}`, `u 7 {"id":"a"}`, `c 8 {"id":"z"}`, `d 0 {"id":null}`}
	if fmt.Sprint(kept) != fmt.Sprint(want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	found, err := b.verify(`{"id":"b","s":"three","n":3}`, string(bad('u', "a", 7).After), `{"id":"x","s":"fits","n":9}`, string(bad('c', "z", 8).After))
	if err != nil || fmt.Sprint(describe(found)) != `[missing {"id":"a"} missing {"id":"z"}]` {
		t.Errorf("verify says %q, %v", describe(found), err)
	}
	full := errors.New("no room for letters")
	b.table.Refused = func(context.Context, stream.Change, *sinks.RowError) error { return full }
	if err := b.try(b.next(false), bad('u', "b", 9)); !errors.Is(err, full) {
		t.Errorf("err = %v", err)
	}
	b.table.Refused = keep
	b.apply(false, put('u', `{"id":"b"}`, `{"id":"b","s":"four","n":4}`))
	b.want(`{"id":"b","s":"four","n":4}`, `{"id":"x","s":"fits","n":9}`)
}
