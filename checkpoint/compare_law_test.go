package checkpoint

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/state"
)

// described says what changed from one state to another, a line a key, sorted.
func described(a, b map[string]string) []string {
	var out []string
	for k, v := range a {
		if w, ok := b[k]; !ok {
			out = append(out, fmt.Sprintf("%x: %x gone", k, v))
		} else if w != v {
			out = append(out, fmt.Sprintf("%x: %x now %x", k, v, w))
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			out = append(out, fmt.Sprintf("%x: new %x", k, w))
		}
	}
	slices.Sort(out)
	return out
}

// compared gives the same of what Compare finds, and says in how many stretches files were left unread.
func compared(t *testing.T, base, next *Table, g KeyGroups, m Method) (out []string, byFile int) {
	t.Helper()
	for _, s := range next.Compare(base, g, m) {
		if s.Method == ByFile {
			byFile++
			out = append(out, differences(t, &s)...)
			continue
		}
		out = append(out, described(read(t, base, s.Groups), read(t, next, s.Groups))...)
	}
	slices.Sort(out)
	return out, byFile
}

func differences(t *testing.T, s *Stretch) []string {
	t.Helper()
	out, _, err := walked(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// walked says what differs until the end or a fault, which may be of base.
func walked(t *testing.T, s *Stretch) (out []string, ofBase bool, err error) {
	t.Helper()
	d := s.Differences(t.Context())
	defer d.Close()
	var last []byte
	for d.Next() {
		if last != nil && bytes.Compare(last, d.Key()) >= 0 {
			t.Fatalf("%x comes behind %x", d.Key(), last)
		}
		last = append(last[:0], d.Key()...)
		before, after := d.Before(), d.After()
		switch {
		case after == nil:
			out = append(out, fmt.Sprintf("%x: %x gone", before.Key(), before.Value()))
		case before == nil:
			out = append(out, fmt.Sprintf("%x: new %x", after.Key(), after.Value()))
		default:
			out = append(out, fmt.Sprintf("%x: %x now %x", before.Key(), before.Value(), after.Value()))
		}
	}
	return out, d.BaseFailed(), d.Err()
}

func read(t *testing.T, table *Table, g KeyGroups) map[string]string {
	t.Helper()
	c, err := table.Cursor(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := map[string]string{}
	for c.Next() {
		out[string(c.Key())] = string(c.Value())
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return out
}

// TestCompareLaw: for every two checkpoints of a chain, in both directions, any key groups, and however they are spread over
// subtasks, what the differing files show is what both whole tables show, and what RocksDB itself read.
func TestCompareLaw(t *testing.T) {
	compareLaw(t, func() *fetch.Link { return nil })
}

// TestCompareLawFar is the same over stores that are far, with so much memory and so many lanes, by chance, that each way of joining
// blocks to ranges and ranges to batches occurs.
func TestCompareLawFar(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	compareLaw(t, func() *fetch.Link {
		latency := time.Duration(1+random.IntN(1000)) << random.IntN(20)
		return fetch.NewLink(latency, fetch.Options{Lanes: 1 << random.IntN(9), Memory: 1 << (6 + random.IntN(20))})
	})
}

func compareLaw(t *testing.T, link func() *fetch.Link) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]state.Kind{"value": state.KindValue, "list": state.KindList, "single": state.KindValue}
	changes, skipped := 0, 0
	all := chains(t, link)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, a := range all[name] {
			for _, b := range all[name] {
				for _, family := range []string{"value", "list", "single"} {
					kind := kinds[family]
					base, next := a.table(family, kind, subtasks(random)...), b.table(family, kind, subtasks(random)...)
					cut := random.IntN(100)
					for _, g := range []KeyGroups{AllKeyGroups(128), {cut, cut + random.IntN(27)}} {
						want := described(a.rows(base, g), b.rows(next, g))
						for _, m := range []Method{Merge, ByFile, Auto} {
							got, n := compared(t, base, next, g, m)
							if d := firstDifference(got, want); d != "" {
								t.Fatalf("chain %s, %s to %s, family %s, key groups %s, %s: %s", name, a.name, b.name, family, g, m, d)
							}
							changes, skipped = changes+len(want), skipped+n
						}
					}
				}
			}
		}
	}
	if changes < 10000 || skipped < 1000 {
		t.Errorf("%d changes, %d stretches by file: too few to show anything", changes, skipped)
	}
}

// subtasks gives the first key groups of some: mostly of one that has all.
func subtasks(random *rand.Rand) []int {
	switch random.IntN(4) {
	case 0:
		return []int{0, 1 + random.IntN(60), 64 + random.IntN(60)}
	case 1:
		return []int{random.IntN(50), 60}
	}
	return []int{0}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing " + want[i]
		case i >= len(want):
			return "too many " + got[i]
		case got[i] != want[i]:
			return got[i] + ", want " + want[i]
		}
	}
	return ""
}

// TestCompareCostFollowsChange: of large files that both checkpoints have, blocks are read one by one, and only for keys in question.
// TestCompareStopsAtFaults: wherever reading fails, the walk ends in that fault and says which side it was, and what it gave before is true.
// TestCompareAsksSideBySide: storage that answers late is asked for many blocks at once.
// TestCompareChoosesWhatReadsLess: few changes by file, many by merge.
// TestPlace: one file is known under each way to write its address, and never taken for another.
