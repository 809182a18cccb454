package differ_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

// integer is the codec of a Java int, written here so that the differ is tested against something that cannot fail with it.
// wide integers have eight bytes: another serializer of the same values.
type integer struct{ wide bool }

func (c integer) Type() *state.Type { return &state.Type{Kind: state.Int32} }

func (c integer) FixedLen() int {
	if c.wide {
		return 8
	}
	return 4
}

func (c integer) Skip(r *javaio.Reader) { r.Skip(c.FixedLen()) }

func (c integer) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if c.wide {
		return fmt.Append(dst, r.Int64())
	}
	return fmt.Append(dst, r.Int32())
}

func (c integer) bytes(v int32) []byte {
	if c.wide {
		return binary.BigEndian.AppendUint64(nil, uint64(int64(v)))
	}
	return binary.BigEndian.AppendUint32(nil, uint32(v))
}

// table is a table in memory: key to value, each key in the key group key mod groups.
type table struct {
	rows   map[int32]int32
	schema *state.Schema
	fail   int // after so many entries; -1 is never
}

func newTable(rows map[int32]int32, wide bool, groups int) *table {
	return &table{rows, &state.Schema{Name: "s", Kind: state.KindValue, Key: integer{}, Namespace: void{}, Value: integer{wide}, MaxParallelism: groups}, -1}
}

// void is the codec of the void namespace.
type void struct{}

func (void) Type() *state.Type                              { return &state.Type{Kind: state.Null} }
func (void) FixedLen() int                                  { return 0 }
func (void) Skip(r *javaio.Reader)                          { r.Skip(1) }
func (void) AppendJSON(dst []byte, r *javaio.Reader) []byte { r.Skip(1); return append(dst, "null"...) }

func (t *table) MaxParallelism() int { return t.schema.MaxParallelism }

func (t *table) group(key int32) int { return int(uint32(key)) % t.schema.MaxParallelism }

func (t *table) Cursor(_ context.Context, groups checkpoint.KeyGroups) (checkpoint.Cursor, error) {
	c := &cursor{table: t}
	for k, v := range t.rows {
		if g := t.group(k); g >= groups.First && g <= groups.Last {
			key := t.schema.AppendKey(nil, g, integer{}.bytes(k), []byte{0}, nil)
			c.entries = append(c.entries, [2][]byte{key, t.schema.Value.(integer).bytes(v)})
		}
	}
	slices.SortFunc(c.entries, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
	return c, nil
}

type cursor struct {
	table   *table
	entries [][2][]byte
	at      int
	err     error
}

var errBroken = errors.New("broken")

func (c *cursor) Next() bool {
	if c.at == c.table.fail {
		c.err = errBroken
		return false
	}
	c.at++
	return c.at <= len(c.entries)
}

func (c *cursor) Key() []byte           { return c.entries[c.at-1][0] }
func (c *cursor) Value() []byte         { return c.entries[c.at-1][1] }
func (c *cursor) Schema() *state.Schema { return c.table.schema }
func (c *cursor) Err() error            { return c.err }
func (c *cursor) Close() error          { return nil }

// apply brings changes into rows, and checks that each says the truth about what was there.
func apply(t *rapid.T, rows map[int32]int32, changes []change) {
	for _, c := range changes {
		old, had := rows[c.key]
		switch c.op {
		case differ.Create, differ.Read:
			if had && c.op == differ.Create {
				t.Fatalf("key %d created twice", c.key)
			}
		case differ.Update, differ.Delete:
			if !had || old != c.before {
				t.Fatalf("%s of key %d: before is %d, it was %d (%t)", c.op, c.key, c.before, old, had)
			}
		}
		if c.op == differ.Delete {
			delete(rows, c.key)
		} else {
			rows[c.key] = c.after
		}
	}
}

type change struct {
	op            differ.Op
	key           int32
	before, after int32
}

func collect(t *rapid.T, base, next differ.Table, groups checkpoint.KeyGroups) (out []change) {
	for c, err := range differ.Diff(t.Context(), base, next, groups, differ.Options{Memory: spill.NewMemory(64)}) {
		if err != nil {
			t.Fatal(err)
		}
		ch := change{op: c.Op, key: number(c.Row().Key)}
		if c.Before != nil {
			ch.before = number(c.Before.Value)
		}
		if c.After != nil {
			ch.after = number(c.After.Value)
		}
		out = append(out, ch)
	}
	return out
}

func number(json []byte) (v int32) {
	if _, err := fmt.Sscan(string(json), &v); err != nil {
		panic(err)
	}
	return v
}

// draw makes two tables that share most of their rows.
func draw(t *rapid.T) (a, b map[int32]int32) {
	value := rapid.Int32Range(-3, 3)
	a = rapid.MapOf(rapid.Int32Range(-40, 40), value).Draw(t, "base")
	b = maps.Clone(a)
	for k, v := range rapid.MapOf(rapid.Int32Range(-40, 40), value).Draw(t, "written") {
		b[k] = v
	}
	for _, k := range rapid.SliceOf(rapid.Int32Range(-40, 40)).Draw(t, "removed") {
		delete(b, k)
	}
	return a, b
}

// TestLaw: apply(diff(A, B), A) = B, whatever the partitions; nothing changes without a difference; the same values in
// other bytes, or in other key groups, are no difference.
func TestLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t)
		groups := rapid.SampledFrom([]int{1, 7, 128, 129, 720}).Draw(t, "max parallelism")
		base, next := newTable(a, rapid.Bool().Draw(t, "base is wide"), groups), newTable(b, rapid.Bool().Draw(t, "next is wide"), groups)
		n := rapid.IntRange(1, 9).Draw(t, "partitions")
		got, total := maps.Clone(a), 0
		for i := range n {
			changes := collect(t, base, next, checkpoint.Partition(i, n, groups))
			apply(t, got, changes)
			total += len(changes)
		}
		if !maps.Equal(got, b) {
			t.Fatalf("applied: %v, want %v", got, b)
		}
		if want := differences(a, b); total != want {
			t.Fatalf("%d changes, want %d", total, want)
		}
	})
}

// TestLawAcrossMaxParallelism: the same when the key groups are others.
func TestLawAcrossMaxParallelism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t)
		counts := []int{2, 128, 300}
		base, next := newTable(a, false, rapid.SampledFrom(counts).Draw(t, "base")), newTable(b, false, rapid.SampledFrom(counts).Draw(t, "next"))
		got := maps.Clone(a)
		changes := collect(t, base, next, checkpoint.AllKeyGroups(next.MaxParallelism()))
		apply(t, got, changes)
		if !maps.Equal(got, b) || len(changes) != differences(a, b) {
			t.Fatalf("%d changes give %v, want %v", len(changes), got, b)
		}
	})
}

func differences(a, b map[int32]int32) (n int) {
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			n++
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			n++
		}
	}
	return n
}

// TestFullReadsEveryRow without a base.
func TestFullReadsEveryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, b := draw(t)
		got := map[int32]int32{}
		changes := collect(t, nil, newTable(b, false, 128), checkpoint.AllKeyGroups(128))
		apply(t, got, changes)
		if !maps.Equal(got, b) || len(changes) != len(b) {
			t.Fatalf("%v, want %v", got, b)
		}
	})
}

// TestBrokenSideEndsInItsError and is never taken for the end of a table: no delete or create follows from it.
func TestBrokenSideEndsInItsError(t *testing.T) {
	rows := map[int32]int32{1: 1, 2: 2, 3: 3, 4: 4}
	for after := range 5 {
		for _, baseBreaks := range []bool{true, false} {
			base, next := newTable(rows, false, 1), newTable(rows, false, 1)
			broken := next
			if baseBreaks {
				broken = base
			}
			broken.fail = after
			var last error
			for c, err := range differ.Diff(t.Context(), base, next, checkpoint.AllKeyGroups(1), differ.Options{}) {
				if last = err; err == nil {
					t.Errorf("%s of key %s from a side that broke after %d entries", c.Op, c.Row().Key, after)
				}
			}
			if !errors.Is(last, errBroken) {
				t.Errorf("after %d: err = %v", after, last)
			}
			if of := new(differ.BaseError); errors.As(last, &of) != baseBreaks {
				t.Errorf("after %d: base broke: %t, err = %v", after, baseBreaks, last)
			}
		}
	}
}

func TestStoppingEarly(t *testing.T) {
	n := 0
	for range differ.Diff(t.Context(), nil, newTable(map[int32]int32{1: 1, 2: 2, 3: 3}, false, 1), checkpoint.AllKeyGroups(1), differ.Options{}) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d changes after a break at 2", n)
	}
}
