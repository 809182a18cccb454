package faults

import (
	"slices"
	"testing"
)

func TestScheduleRepeats(t *testing.T) {
	for round := range uint64(20) {
		if a, b := Round(7, round), Round(7, round); !slices.Equal(a, b) {
			t.Fatalf("round %d: %v, then %v", round, a, b)
		}
	}
	if slices.Equal(Round(7, 0), Round(7, 1)) || slices.Equal(Round(7, 0), Round(8, 0)) {
		t.Error("another round or seed has the same faults")
	}
}

// In every round no victim has two faults at a time, and no more than two go on at once; over a long run everything happens to everybody.
func TestScheduleIsFair(t *testing.T) {
	seen := map[string]int{}
	for round := range uint64(60) {
		open := map[string]string{}
		for _, s := range steps(Round(1, round)) {
			if s.end {
				delete(open, s.Victim)
				continue
			}
			if other, ok := open[s.Victim]; ok {
				t.Errorf("round %d: %v while it still has to %s", round, s.Fault, other)
			}
			open[s.Victim] = s.Kind
			seen[s.Kind+" "+s.Victim]++
			if len(open) > atOnce {
				t.Errorf("round %d: %v at once", round, open)
			}
		}
	}
	for _, k := range kinds {
		for _, v := range k.victims {
			if seen[k.name+" "+v] == 0 {
				t.Errorf("%s never happened to %s", k.name, v)
			}
		}
	}
}
