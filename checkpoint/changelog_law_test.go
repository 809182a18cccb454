package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

const lawGroups = 128

// address is where a row lies, value its bytes in RocksDB's form.
type address struct{ key, namespace, user string }

// unknown stands for what only the job's function could put together.
const unknown = "?"

// world is a state as plain collections have it, the log that leads there, and what the law needs to draw more.
type world struct {
	rt    *rapid.T
	state fixture.State
	log   fixture.Log
	rows  map[address]string
	next  int // makes values differ
}

func (w *world) text(what string, of ...string) string { return rapid.SampledFrom(of).Draw(w.rt, what) }

func (w *world) key() string { return w.text("key", "a", "b", "aa") }

func (w *world) namespace() string {
	if w.state.Kind == "VALUE" || w.state.Kind == "" {
		return ""
	}
	return w.text("namespace", "", "n", "nn", "o")
}

func (w *world) value() string {
	w.next++
	return string(fixture.Bytes{}.Text(fmt.Sprint("v", w.next)))
}

func encoded(s string) fixture.Bytes { return fixture.Bytes{}.Text(s) }

func (w *world) scope(key, namespace string) fixture.Bytes {
	if w.state.Kind == "VALUE" {
		return append(encoded(key), 0)
	}
	return append(encoded(key), encoded(namespace)...)
}

func keyGroup(key string) int {
	var h int32
	for _, c := range []byte(key) {
		h = 31*h + int32(c)
	}
	return state.KeyGroup(h, lawGroups)
}

func (w *world) add(op uint8, a address, payload ...fixture.Bytes) {
	w.log.Add(keyGroup(a.key), 1, op, append([]fixture.Bytes{w.scope(a.key, a.namespace)}, payload...)...)
}

// step makes one change in the log and in the rows.
func (w *world) step() {
	a := address{key: w.key(), namespace: w.namespace()}
	switch w.state.Kind {
	case "VALUE":
		w.single(a, fixture.OpSet)
	case "REDUCING":
		if rapid.IntRange(0, 3).Draw(w.rt, "merge") == 0 {
			w.merge(a)
			return
		}
		w.single(a, fixture.OpSetInternal)
	case "LIST":
		w.list(a)
	case "MAP":
		w.mapping(a)
	default:
		w.timer(a)
	}
}

func (w *world) single(a address, set uint8) {
	if rapid.Bool().Draw(w.rt, "clear") {
		delete(w.rows, a)
		w.add(fixture.OpClear, a)
		return
	}
	w.rows[a] = w.value()
	w.add(set, a, fixture.Bytes(w.rows[a]))
}

func (w *world) list(a address) {
	switch rapid.IntRange(0, 4).Draw(w.rt, "list operation") {
	case 0:
		delete(w.rows, a)
		w.add(fixture.OpClear, a)
	case 1:
		values := []string{w.value(), w.value()}[:rapid.IntRange(0, 2).Draw(w.rt, "elements")]
		if delete(w.rows, a); len(values) > 0 {
			w.rows[a] = strings.Join(values, ",")
		}
		w.add(fixture.OpSet, a, fixture.Bytes{}.I32(len(values)), fixture.Bytes(strings.Join(values, "")))
	case 2:
		values := []string{w.value(), w.value()}
		w.push(a, strings.Join(values, ","))
		w.add(fixture.OpAdd, a, fixture.Bytes{}.I32(2), fixture.Bytes(strings.Join(values, "")))
	case 3:
		v := w.value()
		w.push(a, v)
		w.add(fixture.OpAddElement, a, fixture.Bytes(v))
	default:
		w.merge(a)
	}
}

func (w *world) push(a address, v string) {
	if old, ok := w.rows[a]; ok {
		v = old + "," + v
	}
	w.rows[a] = v
}

func (w *world) merge(target address) {
	payload := encoded(target.namespace)
	sources := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "n", "nn", "o"}), 0, 3, rapid.ID).Draw(w.rt, "sources")
	payload = payload.I32(len(sources))
	for _, n := range sources {
		payload = append(payload, encoded(n)...)
		a := address{key: target.key, namespace: n}
		v, ok := w.rows[a]
		if !ok || a == target {
			continue
		}
		delete(w.rows, a)
		if _, ok := w.rows[target]; ok && w.state.Kind == "REDUCING" {
			w.rows[target] = unknown
		} else {
			w.push(target, v)
		}
	}
	w.add(fixture.OpMergeNamespaces, target, payload)
}

func (w *world) mapping(a address) {
	user := w.text("map key", "", "x", "xx")
	at := address{a.key, a.namespace, user}
	switch rapid.IntRange(0, 4).Draw(w.rt, "map operation") {
	case 0:
		for b := range w.rows {
			if b.key == a.key && b.namespace == a.namespace {
				delete(w.rows, b)
			}
		}
		w.add(fixture.OpClear, a)
	case 1:
		delete(w.rows, at)
		w.add(fixture.OpRemoveElement, a, encoded(user))
	case 2:
		w.rows[at], w.rows[address{a.key, a.namespace, "null"}] = "\x00"+w.value(), "\x01"
		w.add(fixture.OpAdd, a, fixture.Bytes{}.I32(2), encoded(user), fixture.Bytes(w.rows[at]), encoded("null"), fixture.Bytes{1})
	default:
		v := w.value()
		w.rows[at] = "\x00" + v
		w.add(fixture.OpAddOrUpdateElement, a, encoded(user), fixture.Bytes(v))
	}
}

func (w *world) timer(a address) {
	a.user = w.text("time", "00000001", "00000002")
	element := append(append(fixture.Bytes(a.user), encoded(a.key)...), 0)
	if rapid.Bool().Draw(w.rt, "fires") {
		delete(w.rows, a)
		w.log.Add(0, 1, fixture.OpRemoveElement, element)
		return
	}
	w.rows[a] = ""
	w.log.Add(0, 1, fixture.OpAddElement, fixture.Bytes{}.I32(1), element)
}

type pair struct{ key, value string }

// entries gives the rows in the order of their composite keys.
func (w *world) entries(s *state.Schema) []pair {
	var out []pair
	for a, v := range w.rows {
		key := s.AppendKey(nil, keyGroup(a.key), encoded(a.key), w.scope("", a.namespace)[1:], nil)
		switch w.state.Kind {
		case "MAP":
			key = append(key, encoded(a.user)...)
		case "":
			key = append(append(s.AppendKey(nil, keyGroup(a.key), []byte(a.user), nil, nil), encoded(a.key)...), 0)
		}
		out = append(out, pair{string(key), v})
	}
	slices.SortFunc(out, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	return out
}

// memorySource is a base in memory.
type memorySource struct{ pairs []pair }

func (m *memorySource) cursor(_ context.Context, p *part, g KeyGroups, lower, upper []byte) (Cursor, error) {
	c := &memoryCursor{schema: p.schema, at: -1}
	for _, e := range m.pairs {
		if k := int(e.key[0]); k >= g.First && k <= g.Last && e.key >= string(lower) && (upper == nil || e.key < string(upper)) {
			c.pairs = append(c.pairs, e)
		}
	}
	return c, nil
}

func (m *memorySource) get(context.Context, *part, int, []byte) ([]byte, bool, error) {
	return nil, false, errors.New("not asked for")
}
func (m *memorySource) close() error     { return nil }
func (m *memorySource) size(*part) int64 { return -1 }

type memoryCursor struct {
	pairs  []pair
	at     int
	schema *state.Schema
}

func (c *memoryCursor) Next() bool            { c.at++; return c.at < len(c.pairs) }
func (c *memoryCursor) Key() []byte           { return []byte(c.pairs[c.at].key) }
func (c *memoryCursor) Value() []byte         { return []byte(c.pairs[c.at].value) }
func (c *memoryCursor) Schema() *state.Schema { return c.schema }
func (c *memoryCursor) Err() error            { return nil }
func (c *memoryCursor) Close() error          { return nil }

func openWorld(t *rapid.T, log *fixture.Log) *flink.Changelog {
	all := flink.KeyGroupRange{First: 0, Last: lawGroups - 1}
	delta := &flink.ChangelogBytesHandle{Range: all}
	for _, c := range log.Changes {
		delta.Changes = append(delta.Changes, flink.ChangelogEntry(c))
	}
	h := &flink.ChangelogHandle{Range: all, Deltas: []flink.KeyedHandle{delta}}
	l, err := flink.OpenChangelog(t.Context(), h, flink.NewResolver(storage.Local(), "", nil).OpenFile, state.Options{}, lawGroups)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var lawStates = map[string]fixture.State{
	"value":    {Name: "s", Kind: "VALUE", Namespace: fixture.VoidNamespace, Value: fixture.String},
	"list":     {Name: "s", Kind: "LIST", Namespace: fixture.String, Value: fixture.List(fixture.String)},
	"map":      {Name: "s", Kind: "MAP", Namespace: fixture.String, Value: fixture.Map(fixture.String, fixture.String)},
	"reducing": {Name: "s", Kind: "REDUCING", Namespace: fixture.String, Value: fixture.String},
	"timer":    {Name: "s", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)},
}

// TestBaseAndChangesGiveTheState: for any base, any changes and any range, the rows are those of plain collections after the same changes.
func TestBaseAndChangesGiveTheState(t *testing.T) {
	for name, s := range lawStates {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { checkLaw(rt, s) })
		})
	}
}

func checkLaw(rt *rapid.T, s fixture.State) {
	w := &world{rt: rt, state: s, rows: map[address]string{}}
	w.log.Meta(9, fixture.State{Name: "key", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)})
	w.log.Meta(1, s)
	for range rapid.IntRange(0, 8).Draw(rt, "steps before") {
		w.step()
	}
	schema := openWorld(rt, &w.log).States()[1].Versions[0]
	base := &memorySource{w.entries(schema)}
	if slices.ContainsFunc(base.pairs, func(p pair) bool { return p.value == unknown }) {
		rt.Skip("no base holds an unknown value")
	}
	w.log.Changes = w.log.Changes[:2]
	for range rapid.IntRange(0, 20).Draw(rt, "steps") {
		w.step()
	}
	log := openWorld(rt, &w.log)
	all := KeyGroups{0, lawGroups - 1}
	src := &changelog{log: log, memory: rapid.SampledFrom([]*spill.Memory{spill.NewMemory(1), nil}).Draw(rt, "memory"), states: []*changedState{{name: "s", logged: 1,
		versions: log.States()[1].Versions, bases: []part{{groups: all, schema: schema, source: base}}}}}
	p := &part{groups: all, schema: src.states[0].schema(), source: src}

	want := w.entries(schema)
	compare(rt, p, all, nil, nil, want)
	groups := KeyGroups{rapid.IntRange(0, 127).Draw(rt, "first"), rapid.IntRange(0, 127).Draw(rt, "last")}
	compare(rt, p, groups, nil, nil, want)
	borders := append(slices.Clone(want), base.pairs...)
	if len(borders) > 0 {
		draw := func(name string) []byte { return []byte(rapid.SampledFrom(borders).Draw(rt, name).key) }
		compare(rt, p, all, draw("lower"), draw("upper"), want)
		key := draw("get")
		compare(rt, p, all, key, append(bytes.Clone(key), 0), want)
	}
}

// compare holds the rows of a range against those that are wanted of it.
func compare(rt *rapid.T, p *part, g KeyGroups, lower, upper []byte, all []pair) {
	var want []pair
	guess := false
	for _, e := range all {
		if k := int(e.key[0]); k >= g.First && k <= g.Last && e.key >= string(lower) && (upper == nil || e.key < string(upper)) {
			want = append(want, e)
			guess = guess || e.value == unknown
		}
	}
	c, err := p.source.cursor(rt.Context(), p, g, lower, upper)
	if err != nil {
		rt.Fatal(err)
	}
	var got []pair
	for c.Next() {
		got = append(got, pair{string(c.Key()), string(c.Value())})
		if c.Schema() != p.schema {
			rt.Fatal("another schema")
		}
	}
	err = errors.Join(c.Err(), c.Close())
	if guess {
		if !errors.Is(err, fault.ErrUnsupported) {
			rt.Fatalf("err = %v, want one that refuses to guess", err)
		}
		return
	}
	if err != nil || !slices.Equal(got, want) {
		rt.Fatalf("%s [%x, %x): got %q, want %q, err %v", g, lower, upper, got, want, err)
	}
}
