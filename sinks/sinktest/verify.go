package sinktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// row makes the change that says that a row should be there.
func (b *bench) row(object string) stream.Change {
	b.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		b.Fatalf("%s: %v", object, err)
	}
	var key []string
	for _, c := range sqltable.Keys(b.table.Columns) {
		name, _ := json.Marshal(c.Name)
		key = append(key, string(name)+":"+string(members[c.Name]))
	}
	return stream.Change{Op: 'r', Key: []byte("{" + strings.Join(key, ",") + "}"), After: []byte(object)}
}

// verify compares the table with rows, given as JSON objects.
func (b *bench) verify(objects ...string) (found []sinks.Difference, err error) {
	b.Helper()
	v, err := b.sink.(sinks.Verifier).Verify(b.Context(), b.table, b.at, b.TempDir())
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := v.Close(b.Context()); e != nil {
			b.Errorf("close: %v", e)
		}
	}()
	note := func(d sinks.Difference) error {
		d.Key, d.Want, d.Have, d.Columns = slices.Clone(d.Key), slices.Clone(d.Want), slices.Clone(d.Have), slices.Clone(d.Columns)
		found = append(found, d)
		return nil
	}
	for chunk := range slices.Chunk(objects, 1000) {
		var rows []stream.Change
		for _, o := range chunk {
			rows = append(rows, b.row(o))
		}
		if err := v.Expect(b.Context(), rows, note); err != nil {
			return nil, err
		}
	}
	return found, v.Rest(b.Context(), note)
}

// wantVerified: the sink agrees that the table has the rows. A Redis that an epoch was begun on is not compared.
func (b *bench) wantVerified(objects []string) {
	b.Helper()
	if at := b.locate(); at.Chain == "" {
		return
	}
	found, err := b.verify(objects...)
	if b.Prefix != nil && errors.Is(err, sinks.ErrFenced) {
		return
	}
	if err != nil || len(found) > 0 {
		b.Fatalf("table %q has what it should, and verify says %v, %v", b.table.Consumer, describe(found), err)
	}
}

func describe(found []sinks.Difference) (lines []string) {
	for _, d := range found {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Kind, d.Key, strings.Join(d.Columns, ","))))
	}
	slices.Sort(lines)
	return lines
}

func testVerify(t *testing.T, target Target) {
	b := open(t, target, columns("id* string", "balance int64", "note string")...)
	b.apply(true, put('r', `{"id":"a"}`, `{"id":"a","balance":1,"note":"x"}`), put('r', `{"id":"b"}`, `{"id":"b","balance":2,"note":null}`),
		put('r', `{"id":"c"}`, `{"id":"c","balance":3,"note":"z"}`), put('r', `{"id":"e\"é"}`, `{"id":"e\"é","balance":3,"note":"z"}`))
	rows := []string{`{"id":"a","balance":1,"note":"x"}`, `{"id":"b","balance":20,"note":"new"}`, `{"id":"d","balance":4,"note":null}`}
	found, err := b.verify(rows...)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`different {"id":"b"} balance,note`, `missing {"id":"d"}`}
	if b.Prefix == nil {
		want = append(want, `extra {"id":"c"}`, `extra {"id":"e\"é"}`)
	} else {
		prefix := b.Prefix(t, b.table)
		want = append(want, fmt.Sprintf(`extra %q`, prefix+"c"), fmt.Sprintf(`extra %q`, prefix+"e\"é"))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, plainJSON(describe(found))); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	before := b.at
	if err := b.sink.(sinks.Verifier).Mend(t.Context(), b.table, b.at, 3, found); err != nil {
		t.Fatal(err)
	}
	b.want(rows...)
	if after := b.locate(); after.Revision != before.Revision+1 || after.Chain != before.Chain || after.Epoch != before.Epoch || after.Snapshot != before.Snapshot {
		t.Errorf("position %+v, was %+v", after, before)
	}
	if err := b.sink.(sinks.Verifier).Mend(t.Context(), b.table, before, 3, found); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("mended over a target that has moved: %v", err)
	}
	if _, err := b.sink.(sinks.Verifier).Verify(t.Context(), b.table, before, ""); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("compared with a target that has moved: %v", err)
	}
	b.apply(false, put('u', `{"id":"a"}`, `{"id":"a","balance":5,"note":"x"}`)) // the worker goes on
	b.want(append(rows[1:], `{"id":"a","balance":5,"note":"x"}`)...)
}

// plainJSON undoes the blanks that some print into JSON.
func plainJSON(lines []string) []string {
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `" : "`, `":"`)
	}
	return lines
}

// testVerifyMany: a few differences among many rows, and an empty table.
func testVerifyMany(t *testing.T, target Target) {
	b := open(t, target, account...)
	const n = 12_345
	var changes []stream.Change
	var rows []string
	for i := range n {
		row := fmt.Sprintf(`{"id":"k%d","balance":%d}`, i, i)
		changes = append(changes, put('r', fmt.Sprintf(`{"id":"k%d"}`, i), row))
		rows = append(rows, row)
	}
	b.apply(true, changes[:n-1]...)
	rows[17] = `{"id":"k17","balance":-1}`
	found, err := b.verify(append(rows[:5000:5000], rows[5001:]...)...)
	if err != nil || len(found) != 3 {
		t.Errorf("%v, %v", describe(found), err)
	}
	for i, want := range []string{sinks.Different, sinks.Missing, sinks.Extra} {
		if i < len(found) && found[i].Kind != want {
			t.Errorf("%v", describe(found))
		}
	}
	b.apply(true)
	if found, err := b.verify(rows[:3]...); err != nil || len(found) != 3 {
		t.Errorf("%v, %v", describe(found), err)
	}
}
