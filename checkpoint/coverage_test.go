package checkpoint

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/fault"
)

// TestOfSomeParallelism agrees with asking every subtask of every parallelism.
func TestOfSomeParallelism(t *testing.T) {
	for _, groups := range []int{1, 2, 7, 128, 129} {
		can := map[KeyGroups]bool{}
		for n := 1; n <= groups; n++ {
			for i := range n {
				can[Partition(i, n, groups)] = true
			}
		}
		for first := -1; first <= groups; first++ {
			for last := first - 1; last <= groups; last++ {
				if r := (KeyGroups{first, last}); r.ofSomeParallelism(groups) != can[r] {
					t.Fatalf("%s of %d: %t", r, groups, !can[r])
				}
			}
		}
	}
}

// TestLargestParallelism has too many ranges to try all.
func TestLargestParallelism(t *testing.T) {
	for range 20_000 {
		n := rand.IntN(32768) + 1
		if r := Partition(rand.IntN(n), n, 32768); !r.ofSomeParallelism(32768) {
			t.Fatal(r)
		}
	}
}

// TestWrongKeyGroups: a subtask's state that is not for its key groups is damage, since rows would be missing.
func TestWrongKeyGroups(t *testing.T) {
	log := valueLog(true, encoded("v"))
	for name, o := range map[string]*Operator{
		"none":         operatorOf(t, handle(0, -1, log)),
		"too few":      operatorOf(t, handle(0, 63, log), handle(64, 126, log)),
		"another's":    operatorOf(t, handle(0, 63, log), handle(0, 63, log)),
		"changes lost": operatorOf(t, &flink.ChangelogHandle{Range: flink.KeyGroupRange{First: 0, Last: 127}, Deltas: handle(0, -1, log).Deltas}),
	} {
		if _, err := o.Tables(t.Context()); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
