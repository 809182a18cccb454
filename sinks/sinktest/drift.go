package sinktest

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/sinks"
)

// drifting prepares a table under a policy and fills it.
func drifting(t *testing.T, target Target, d sinks.Drift) *bench {
	t.Helper()
	target.Open = func(t testing.TB) sinks.Sink { return target.Drift(t, d) }
	b := open(t, target, columns("id* int32", "n int32")...)
	b.apply(true, put('r', `{"id":1}`, `{"id":1,"n":1}`))
	return b
}

// testDriftStops: a schema that has grown is refused by the names of the columns, the table stays, and an epoch of the old columns still goes in.
func testDriftStops(t *testing.T, target Target) {
	b := drifting(t, target, sinks.DriftStop)
	b.prepare() // what has not changed is no drift
	old := b.table.Columns
	b.table.Columns = columns("id* int32", "new string", "n int32")
	err := b.sink.Prepare(t.Context(), b.table)
	var permanent *sinks.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), `"new"`) || !strings.Contains(err.Error(), "schema_drift is stop") {
		t.Fatalf("err = %v", err)
	}
	b.table.Columns = old
	b.prepare()
	b.apply(false, put('u', `{"id":1}`, `{"id":1,"n":2}`))
	b.want(`{"id":1,"n":2}`)
	b.table.Columns = columns("id* int32")
	b.prepare() // a column that is gone is none either
	b.apply(false, put('c', `{"id":2}`, `{"id":2}`))
	b.table.Columns = old
	b.want(`{"id":1,"n":2}`, `{"id":2}`)
	b.table.Columns = columns("id* int32", "new string", "n int32")
	b.sink = b.Drift(t, sinks.DriftAdd)
	defer b.sink.Close()
	b.prepare()
	b.apply(false, put('c', `{"id":3}`, `{"id":3,"new":"x","n":3}`))
	b.want(`{"id":1,"n":2}`, `{"id":2}`, `{"id":3,"new":"x","n":3}`)
}

// testDriftIgnored: rows bring the new columns along and are written without them, in delta and full epochs; so they are compared and mended.
func testDriftIgnored(t *testing.T, target Target) {
	b := drifting(t, target, sinks.DriftIgnore)
	old := b.table.Columns
	b.table.Columns = columns("id* int32", "extra string", "n int32", "more json")
	b.prepare()
	b.apply(false, put('u', `{"id":1}`, `{"id":1,"extra":"x","n":2,"more":{"a":[1]}}`), put('c', `{"id":2}`, `{"id":2,"extra":null,"n":3,"more":null}`))
	found, err := b.verify(`{"id":1,"extra":"other","n":2,"more":null}`, `{"id":2,"n":4}`)
	if err != nil || len(found) != 1 || strings.Join(found[0].Columns, "") != "n" {
		t.Errorf("%v, %v", describe(found), err)
	}
	if err := b.sink.(sinks.Verifier).Mend(t.Context(), b.table, b.at, 2, found); err != nil {
		t.Error(err)
	}
	b.locate()
	b.apply(false, del(`{"id":1}`))
	b.table.Columns = old
	b.want(`{"id":2,"n":4}`)
	b.table.Columns = columns("id* int32", "extra string", "n int32")
	b.prepare()
	b.apply(true, put('r', `{"id":5}`, `{"id":5,"extra":"y","n":6}`))
	b.table.Columns = old
	b.want(`{"id":5,"n":6}`)
}
