package flink

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/statebridge/statebridge/state"
)

// TestRows reads everything that real snapshots hold in streams, and compares it with what the jobs say they had.
func TestRows(t *testing.T) {
	for _, name := range []string{
		"heap-1.20", "heap-async-2.3", "heap-compressed-2.3", "heap-maxpar720-1.20", "heap-windows-2.3", "heap-ttl-1.20",
		"canonical-rocksdb-1.20", "canonical-heap-2.3", "canonical-compressed-2.3", "broadcast-2.3",
	} {
		t.Run(name, func(t *testing.T) {
			s := openFixture(t, name)
			must, may := s.expected(t)
			got := map[string]int{}
			for i := range s.Operators {
				s.readOperator(t, &s.Operators[i], func(row string) { got[row]++ })
			}
			if len(must) == 0 {
				t.Fatal("nothing is expected")
			}
			for row, n := range must {
				if got[row] < n {
					t.Errorf("%d of %d: %s", got[row], n, row)
				}
			}
			for row, n := range got {
				if n > must[row]+may[row] {
					t.Errorf("%d too many: %s", n-must[row]-may[row], row)
				}
			}
		})
	}
}

func (s *snapshot) readOperator(t *testing.T, o *Operator, add func(row string)) {
	t.Helper()
	broadcast := map[string]bool{} // each subtask has a copy
	for i := range o.Subtasks {
		if h, ok := o.Subtasks[i].ManagedKeyed.(*KeyGroupsHandle); ok {
			s.readKeyed(t, o, h, add)
		}
		if h := o.Subtasks[i].ManagedOperator; h != nil {
			s.readOperatorState(t, o, h, broadcast, add)
		}
	}
}

func (s *snapshot) readKeyed(t *testing.T, o *Operator, h *KeyGroupsHandle, add func(row string)) {
	t.Helper()
	k, err := OpenKeyGroups(context.Background(), h, s.open, s.options(), o.MaxParallelism)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for id, schema := range k.Meta().States {
		var r state.Row
		for g := k.Range().First; g <= k.Range().Last; g++ {
			for e, err := range k.Entries(context.Background(), id, g) {
				if err != nil {
					t.Fatal(err)
				}
				add(render(t, o.ID, schema, &r, e))
				if r.KeyGroup != g {
					t.Fatalf("key group %d in %d", r.KeyGroup, g)
				}
			}
		}
	}
}

func (s *snapshot) readOperatorState(t *testing.T, o *Operator, h *OperatorHandle, seen map[string]bool, add func(row string)) {
	t.Helper()
	st, err := OpenOperatorState(context.Background(), h, s.open, s.options())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for id, schema := range st.States() {
		var r state.Row
		for e, err := range st.Entries(context.Background(), id) {
			if err != nil {
				t.Fatal(err)
			}
			row := render(t, o.ID, schema, &r, e)
			if schema.Kind != state.KindBroadcast || !seen[row] {
				add(row)
			}
			seen[row] = true
		}
	}
}

// TestEntriesInAnyOrder reads the states of a key group last to first, twice: where a block starts must not depend on
// what was read before.
func TestEntriesInAnyOrder(t *testing.T) {
	for _, name := range []string{"heap-1.20", "heap-compressed-2.3", "canonical-rocksdb-1.20", "canonical-compressed-2.3"} {
		t.Run(name, func(t *testing.T) {
			k, _ := openFixture(t, name).keyGroups(t, "customer")
			defer k.Close()
			fresh, _ := openFixture(t, name).keyGroups(t, "customer")
			defer fresh.Close()
			want := map[[2]int]string{}
			for g := k.Range().First; g <= k.Range().Last; g++ {
				for id := range k.Meta().States {
					want[[2]int{g, id}] = entryText(t, fresh, id, g)
				}
			}
			for range 2 {
				for g := k.Range().First; g <= k.Range().Last; g++ {
					for id := len(k.Meta().States) - 1; id >= 0; id-- {
						if got := entryText(t, k, id, g); got != want[[2]int{g, id}] {
							t.Fatalf("key group %d, state %d: %q, want %q", g, id, got, want[[2]int{g, id}])
						}
					}
				}
			}
		})
	}
}

func entryText(t *testing.T, k *KeyGroups, id, g int) string {
	t.Helper()
	var text strings.Builder
	for e, err := range k.Entries(context.Background(), id, g) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(string(e.Key) + "\x00" + string(e.Value) + "\x01")
	}
	return text.String()
}

// TestEntriesAtOnce reads the states of the same key groups from several goroutines.
func TestEntriesAtOnce(t *testing.T) {
	for _, name := range []string{"heap-1.20", "canonical-compressed-2.3"} {
		k, _ := openFixture(t, name).keyGroups(t, "customer")
		defer k.Close()
		var n [8]int
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				for g := k.Range().First; g <= k.Range().Last; g++ {
					for j := range k.Meta().States {
						id := (i + j) % len(k.Meta().States)
						for _, err := range k.Entries(context.Background(), id, g) {
							if err != nil {
								t.Error(err)
								return
							}
							n[i]++
						}
					}
				}
			})
		}
		wg.Wait()
		for i := range n {
			if n[i] != n[0] || n[i] == 0 {
				t.Errorf("%s: %d entries, then %d", name, n[0], n[i])
			}
		}
	}
}

// TestEntriesStop leaves each run of entries after the first one. It stays good while others are read.
func TestEntriesStop(t *testing.T) {
	k, id := openFixture(t, "heap-1.20").keyGroups(t, "customer")
	defer k.Close()
	for g := k.Range().First; g <= k.Range().Last; g++ {
		var held Entry
		first := ""
		for e, err := range k.Entries(context.Background(), id, g) {
			if err != nil {
				t.Fatal(err)
			}
			held, first = e, string(e.Key)+"\x00"+string(e.Value)+"\x01"
			break
		}
		entryText(t, k, (id+1)%len(k.Meta().States), g) // into the same buffers, if they were given back
		if now := string(held.Key) + "\x00" + string(held.Value) + "\x01"; first != "" && now != first {
			t.Errorf("key group %d: %q has become %q", g, first, now)
		}
		if whole := entryText(t, k, id, g); !strings.HasPrefix(whole, first) {
			t.Errorf("key group %d: starts with %q, then with %q", g, first, whole)
		}
	}
}

func TestEntriesOutside(t *testing.T) {
	k, id := openFixture(t, "heap-1.20").keyGroups(t, "purchases")
	defer k.Close()
	for _, c := range [][2]int{{id, k.Range().Last + 1}, {id, -1}, {len(k.Meta().States), 0}, {-1, 0}} {
		n := 0
		for _, err := range k.Entries(context.Background(), c[0], c[1]) {
			if n++; err == nil {
				t.Errorf("state %d, key group %d: an entry", c[0], c[1])
			}
		}
		if n != 1 {
			t.Errorf("state %d, key group %d: %d pairs", c[0], c[1], n)
		}
	}
}
