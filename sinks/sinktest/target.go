package sinktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// Target is a sink under test.
type Target struct {
	Open func(t testing.TB) sinks.Sink // another sink on the same, shared store; closed by the suite
	// Drift opens one that does as it says when a schema grows.
	Drift func(t testing.TB, d sinks.Drift) sinks.Sink
	// Bad opens one that does as it says with values that it can't hold.
	Bad func(t testing.TB, b sinks.BadValue) sinks.Sink
	// Read gives the rows of a table as text: column to value, null absent. A json column reads as JSON, bytes as base64.
	Read func(t testing.TB, table sinks.Table) []map[string]string
	Wipe func(t testing.TB, table sinks.Table) // deletes all rows, or whatever says that they are there, behind the sink's back

	// Lose holds the ways in which a table can lose its place, by name; of targets whose tables can change together.
	Lose map[string]func(t testing.TB, table sinks.Table)

	// Prefix is what the keys of a table's rows begin with, where a target has keys; nil: it has tables.
	Prefix func(t testing.TB, table sinks.Table) string

	Whole     bool // nothing of an epoch is seen before its commit
	RefuseNUL bool
}

// bench is one table of one target in one test.
type bench struct {
	testing.TB
	Target
	sink  sinks.Sink
	table sinks.Table
	chain string
	at    sinks.Position
}

// open prepares a table named after the test, so that tests share a server.
func open(t testing.TB, target Target, columns ...stream.Column) *bench {
	t.Helper()
	b := &bench{TB: t, Target: target, chain: "chain-1", table: sinks.Table{Source: "bank", Consumer: tableName(t), Columns: columns}}
	b.sink = b.another()
	b.prepare()
	return b
}

func tableName(t testing.TB) string {
	name := t.Name()
	return strings.ToLower(name[strings.LastIndex(name, "/")+1:])
}

func (b *bench) another() sinks.Sink {
	s := b.Open(b)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	return s
}

func (b *bench) prepare() {
	b.Helper()
	if err := b.sink.Prepare(b.Context(), b.table); err != nil {
		b.Fatalf("prepare: %v", err)
	}
	b.locate()
}

func (b *bench) locate() sinks.Position {
	b.Helper()
	at, err := b.sink.Position(b.Context(), b.table)
	if err != nil {
		b.Fatalf("position: %v", err)
	}
	b.at = at
	return at
}

// next is the epoch after the position.
func (b *bench) next(full bool) stream.Epoch {
	n := b.at.Epoch + 1
	return stream.Epoch{
		Source: b.table.Source, Consumer: b.table.Consumer, Chain: b.chain, Number: n, Attempt: fmt.Sprint("attempt-", n), Full: full,
		Snapshot: stream.SnapshotRef{Job: "job", CheckpointID: int64(n) * 10, Location: fmt.Sprint("chk-", n*10)},
		Columns:  b.table.Columns, Partitions: 2,
	}
}

// apply takes the target one epoch further.
func (b *bench) apply(full bool, changes ...stream.Change) {
	b.Helper()
	if err := b.try(b.next(full), changes...); err != nil {
		b.Fatalf("epoch %d: %v", b.at.Epoch+1, err)
	}
	b.locate()
}

func (b *bench) try(to stream.Epoch, changes ...stream.Change) error {
	return write(b.Context(), b.sink, b.table, b.at, to, changes)
}

func write(ctx context.Context, sink sinks.Sink, table sinks.Table, from sinks.Position, to stream.Epoch, changes []stream.Change) error {
	tx, err := sink.Begin(ctx, table, from, to)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(changes, 512) {
		if err = tx.Apply(ctx, batch); err != nil {
			break
		}
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if e := tx.Rollback(ctx); e != nil && err == nil {
		err = e
	}
	return err
}

// want compares the table with rows that are given as JSON objects.
func (b *bench) want(objects ...string) {
	b.Helper()
	var want []string
	for _, o := range objects {
		want = append(want, b.normal(b.texts(o)))
	}
	var got []string
	for _, r := range b.Read(b, b.table) {
		got = append(got, b.normal(r))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		b.Fatalf("table %q (-want +got):\n%s", b.table.Consumer, diff)
	}
	b.wantVerified(objects)
}

// texts takes a JSON row apart with the standard library, as a second opinion on package row.
func (b *bench) texts(object string) map[string]string {
	b.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		b.Fatalf("%s: %v", object, err)
	}
	r := map[string]string{}
	for name, raw := range members {
		var s string
		switch {
		case string(raw) == "null":
		case b.logical(name) != "json" && json.Unmarshal(raw, &s) == nil:
			r[name] = s
		default:
			r[name] = string(raw)
		}
	}
	return r
}

func (b *bench) logical(name string) string {
	for _, c := range b.table.Columns {
		if c.Name == name {
			return c.Type
		}
	}
	return ""
}

// normal prints a row with one spelling for each value.
func (b *bench) normal(r map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s=%q", name, spell(b.logical(name), r[name])))
	}
	return strings.Join(parts, " ")
}

func spell(logical, v string) string {
	switch logical {
	case "float32", "float64":
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	case "bool":
		if v, err := strconv.ParseBool(v); err == nil {
			return strconv.FormatBool(v)
		}
	case "json":
		var x any
		d := json.NewDecoder(bytes.NewReader([]byte(v)))
		d.UseNumber()
		if d.Decode(&x) == nil {
			s, _ := json.Marshal(x)
			return string(s)
		}
	}
	return v
}

// Columns of the suite's tables, written "name type" with a star behind a key column's name.
func columns(specs ...string) (found []stream.Column) {
	for _, s := range specs {
		name, kind, _ := strings.Cut(s, " ")
		plain := strings.TrimSuffix(name, "*")
		found = append(found, stream.Column{Name: plain, Type: kind, Key: plain != name})
	}
	return found
}

// put makes a change of a row, given as a JSON object of all columns; its op is r, c or u.
func put(op byte, key, row string) stream.Change {
	return stream.Change{Op: op, Key: []byte(key), After: []byte(row)}
}

func del(key string) stream.Change { return stream.Change{Op: 'd', Key: []byte(key)} }
