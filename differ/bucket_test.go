package differ_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/state"
)

// bucketRows are the rows that a bucket must have held: columns as an array, by the key's JSON.
func bucketRows(t *testing.T, file string) map[string][]any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]any{}
	for line := range bytes.Lines(b) {
		var r struct{ Key, Value json.RawMessage }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		var key bytes.Buffer
		if err := json.Compact(&key, r.Key); err != nil {
			t.Fatal(err)
		}
		rows[key.String()] = columnsOf(t, r.Value)
	}
	return rows
}

// columnsOf gives the values of an array or an object, without nulls at the end: a column that was added later is one.
func columnsOf(t *testing.T, text []byte) (values []any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	open, err := d.Token()
	for err == nil && d.More() {
		if open == json.Delim('{') {
			_, err = d.Token()
		}
		var v any
		if err == nil {
			err = d.Decode(&v)
		}
		values = append(values, v)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for len(values) > 0 && values[len(values)-1] == nil {
		values = values[:len(values)-1]
	}
	return values
}

// TestBucketsOfFluss: what two snapshots of a bucket differ in is what was written between them, however they are compared.
func TestBucketsOfFluss(t *testing.T) {
	archives, err := filepath.Glob("../checkpoint/fluss/testdata/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, archive := range archives {
		dir := fixture.Unzip(t, archive)
		schema, err := os.ReadFile(filepath.Join(dir, "schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		table, err := state.ParseFlussTable("schema.json", schema)
		if err != nil {
			t.Fatal(err)
		}
		places, err := filepath.Glob(filepath.Join(dir, "kv/*/*/*/snap-0"))
		if more, _ := filepath.Glob(filepath.Join(dir, "kv/*/*/*/*/snap-0")); err != nil || len(places)+len(more) != 1 {
			t.Fatal(places, more, err)
		} else {
			places = append(places, more...)
		}
		open := func(n int) (*checkpoint.Table, map[string][]any) {
			s, err := checkpoint.Open(t.Context(), filepath.Join(filepath.Dir(places[0]), fmt.Sprintf("snap-%d", n)), checkpoint.Options{Table: table})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			tables, err := s.Operators()[0].Tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return tables[0], bucketRows(t, filepath.Join(dir, fmt.Sprintf("snap-%d.jsonl", n)))
		}
		for _, pair := range [][2]int{{0, 1}, {1, 2}, {0, 2}, {2, 0}, {1, 1}} {
			base, before := open(pair[0])
			next, after := open(pair[1])
			for _, m := range []checkpoint.Method{checkpoint.Auto, checkpoint.Merge, checkpoint.ByFile} {
				t.Run(fmt.Sprintf("%s/%d-%d/%s", filepath.Base(archive), pair[0], pair[1], m), func(t *testing.T) {
					if m == checkpoint.ByFile {
						if plan := next.Compare(base, checkpoint.AllKeyGroups(1), m); len(plan) != 1 || plan[0].Method != m {
							t.Fatalf("planned %v", plan)
						}
					}
					applyDiff(t, base, next, m, before, after)
				})
			}
		}
	}
}

// applyDiff applies the changes to before, which must then be after; none of them may be without effect.
func applyDiff(t *testing.T, base, next *checkpoint.Table, m checkpoint.Method, before, after map[string][]any) {
	rows := map[string][]any{}
	for k, v := range before {
		rows[k] = v
	}
	for c, err := range differ.Diff(t.Context(), base, next, checkpoint.AllKeyGroups(1), differ.Options{Method: m}) {
		if err != nil {
			t.Fatal(err)
		}
		key := string(c.Row().Key)
		held, was := rows[key]
		if was != (c.Before != nil) || was && !slices.EqualFunc(held, columnsOf(t, c.Before.Value), func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("%s of %s, which has %v", c.Op, key, held)
		}
		delete(rows, key)
		if c.After != nil {
			rows[key] = columnsOf(t, c.After.Value)
			if was && reflect.DeepEqual(rows[key], held) {
				t.Fatalf("%s of %s changes nothing", c.Op, key)
			}
		}
	}
	if !reflect.DeepEqual(rows, after) {
		t.Fatalf("%d rows, want %d, or other values", len(rows), len(after))
	}
}
