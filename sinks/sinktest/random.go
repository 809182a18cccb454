package sinktest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/statebridge/statebridge/stream"
)

// testRandom is the law apply(diff(A, B)) to A = B, over random tables A, B, C, … with full epochs and rollbacks among them.
func testRandom(t *testing.T, target Target) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b := open(t, target, columns("id* int64", "name* string", "s string", "n int64", "f float64", "j json")...)
	model := map[string]string{}
	for step := range 25 {
		next := mutate(r, model)
		full := step == 0 || r.IntN(6) == 0
		changes := diff(model, next, full)
		r.Shuffle(len(changes), func(i, k int) { changes[i], changes[k] = changes[k], changes[i] })
		if r.IntN(3) == 0 {
			b.abandon(full, changes[:r.IntN(len(changes)+1)])
		}
		b.apply(full, changes...)
		model = next
		b.want(slices.Collect(maps.Values(model))...)
	}
}

// abandon begins an epoch and dies before its commit.
func (b *bench) abandon(full bool, changes []stream.Change) {
	b.Helper()
	tx, err := b.sink.Begin(b.Context(), b.table, b.at, b.next(full))
	if err != nil {
		b.Fatal(err)
	}
	if err := tx.Apply(b.Context(), changes); err != nil {
		b.Fatal(err)
	}
	if err := tx.Rollback(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.locate()
}

func mutate(r *rand.Rand, rows map[string]string) map[string]string {
	next := maps.Clone(rows)
	for range r.IntN(60) {
		id, name := r.IntN(40), []string{"a", "a:b", `\"\\`, ""}[r.IntN(4)]
		key := fmt.Sprintf(`{"id":%d,"name":"%s"}`, id, name)
		if r.IntN(4) == 0 {
			delete(next, key)
			continue
		}
		next[key] = fmt.Sprintf(`{"id":%d,"name":"%s","s":%s,"n":%s,"f":%s,"j":%s}`, id, name,
			pick(r, `"x\ty"`, `"\u00ff"`, "null"), pick(r, "1", "-9223372036854775808", "null"),
			pick(r, "1.5", `"NaN"`, "-0.0", "null"), pick(r, `{"a":[1,{"b":"]}"}]}`, "[]", "null"))
	}
	return next
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

func diff(base, next map[string]string, full bool) (changes []stream.Change) {
	if full {
		for key, row := range next {
			changes = append(changes, put('r', key, row))
		}
		return changes
	}
	for key, row := range next {
		switch old, there := base[key]; {
		case !there:
			changes = append(changes, put('c', key, row))
		case old != row:
			changes = append(changes, put('u', key, row))
		}
	}
	for key := range base {
		if _, there := next[key]; !there {
			changes = append(changes, del(key))
		}
	}
	return changes
}
