package checkpoint_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/fault"
)

// scenario is what a job of e2e/kinds left: its snapshots in their order, and the rows that each must hold.
type scenario struct {
	Snapshots []struct{ Path, Kind, Expected string }
}

func readScenario(t *testing.T, dir string) scenario {
	t.Helper()
	var s scenario
	b, err := os.ReadFile(filepath.Join(dir, "scenario.json"))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil || len(s.Snapshots) == 0 {
		t.Fatalf("%s: %d snapshots, %v", dir, len(s.Snapshots), err)
	}
	return s
}

// checkRows compares what is read of a scenario's snapshot i with what it must hold.
func (s scenario) checkRows(t *testing.T, dir string, i int) *checkpoint.Snapshot {
	t.Helper()
	at := s.Snapshots[i]
	snap := open(t, filepath.Join(dir, at.Path), checkpoint.Options{})
	if diff := cmp.Diff(expected(t, filepath.Join(dir, at.Expected)), rowsOf(t, snap)); diff != "" {
		t.Errorf("%s: -want +got\n%s", at.Path, diff)
	}
	return snap
}

// TestFinished: the operator "ledger" of a real job ends while "live" runs on: at once, or one subtask after the other. The snapshots before hold its rows, those after
// hold none and say so, and records in flight are never taken for rows.
func TestFinished(t *testing.T) {
	root := fixture.Unpack(t, fixture.Finished)
	for _, line := range []string{"1.20", "2.3"} {
		for name, gone := range map[string][]string{ // key groups whose state has gone, by snapshot
			"aligned":   {"", "", "0-127", "0-127"},
			"unaligned": {"", "", "0-127", "0-127", "0-127"},
			"half":      {"", "", "0-63", "0-63", "0-127", "0-127"},
		} {
			t.Run(line+"-"+name, func(t *testing.T) {
				dir := filepath.Join(root, line+"-"+name)
				s := readScenario(t, dir)
				overtaken := 0
				for i := range s.Snapshots {
					snap := s.checkRows(t, dir, i)
					checkFinished(t, snap, gone[i])
					if inFlight(snap) && gone[i] == "0-127" {
						overtaken++
					}
				}
				if name == "unaligned" && overtaken == 0 {
					t.Error("no snapshot has records in flight beside a finished operator")
				}
			})
		}
	}
}

func checkFinished(t *testing.T, snap *checkpoint.Snapshot, want string) {
	t.Helper()
	o, err := snap.Operator("ledger")
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, g := range o.FinishedGroups() {
		groups = append(groups, g.String())
	}
	if got := strings.Join(groups, ","); got != want || (o.FinishedNote() == "") != (want == "") {
		t.Errorf("%s: key groups %q have finished, want %q; %s", snap.Location, got, want, o.FinishedNote())
	}
	if _, err = snap.Table(t.Context(), "ledger", "total"); (err != nil) != o.Finished {
		t.Errorf("%s: finished %v: %v", snap.Location, o.Finished, err)
	}
	if err != nil && (!errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), "does not mean that its rows were deleted")) {
		t.Error(err)
	}
}

func inFlight(snap *checkpoint.Snapshot) bool {
	return slices.ContainsFunc(snap.Operators(), func(o *checkpoint.Operator) bool {
		for _, s := range o.Subtasks {
			if len(s.InputChannels)+len(s.OutputChannels) > 0 {
				return true
			}
		}
		return false
	})
}

func TestKeyGroupsWithout(t *testing.T) {
	type groups = []checkpoint.KeyGroups
	for _, c := range []struct{ others, want groups }{
		{nil, groups{{10, 20}}},
		{groups{{0, 9}, {21, 30}}, groups{{10, 20}}},
		{groups{{0, 12}}, groups{{13, 20}}},
		{groups{{12, 14}, {14, 16}, {20, 20}}, groups{{10, 11}, {17, 19}}},
		{groups{{0, 15}, {5, 12}}, groups{{16, 20}}},
		{groups{{0, 30}}, nil},
	} {
		if got := (checkpoint.KeyGroups{First: 10, Last: 20}).Without(c.others); !slices.Equal(got, c.want) {
			t.Errorf("10-20 without %v = %v, want %v", c.others, got, c.want)
		}
	}
}
