package e2e

import (
	"bytes"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/e2e/corpus"
)

// Every snapshot of the corpus exports to the rows that it must hold, and the diff of two that follow each other is the difference of those.
func TestCorpus(t *testing.T) {
	bin := Build(t)
	for _, s := range corpus.Open(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			checkScenario(t, bin, s)
		})
	}
}

// The snapshots of the demo are a scenario too.
func TestDemoData(t *testing.T) {
	bin := Build(t)
	dir := t.TempDir()
	snapshots, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	s := corpus.Scenario{Name: "demo", Dir: dir}
	for _, d := range snapshots {
		if err := d.Arrive(dir); err != nil {
			t.Fatal(err)
		}
		name := path.Base(d.Path)
		s.Snapshots = append(s.Snapshots, corpus.Snapshot{
			Name: "demo/" + name, Path: filepath.Join(dir, d.Path),
			Expected: filepath.Join(repository(t), "cmd/statebridge/demodata/testdata", name+".jsonl"),
		})
	}
	checkScenario(t, bin, s)
}

// A gap is what of a scenario cannot be read; each entry fails the test once it can.
type gap struct {
	raw     []string        // states some of whose values come out as $raw
	refused map[string]bool // kinds of snapshots that are refused, since values of unknown length stand in the way of those behind them
}

// Kryo and POJO classes that the job never registered leave no description in the snapshot, only their names.
var (
	kryo = []string{"v_object_kryo", "v_opaque_kryo", "v_registered_kryo"}
	pojo = []string{"v_animal", "v_person", "m_long_person"}
	gaps = map[string]gap{
		"flink2-serializers_rocksdb": {raw: kryo},
		"flink1-serializers_heap":    {raw: append(pojo, kryo...), refused: map[string]bool{"checkpoint": true, "savepoint-native": true}},
	}
)

func checkScenario(t *testing.T, bin string, s corpus.Scenario) {
	gap := gaps[s.Name]
	var last string // the snapshot before, and its rows
	var base []corpus.Row
	for _, snapshot := range s.Snapshots {
		if gap.refused[snapshot.Kind] {
			checkRefused(t, bin, snapshot)
			continue
		}
		want := readRows(t, snapshot.Expected)
		got := rows(t, Output(t, bin, "export", snapshot.Path, "--output", "jsonl"))
		want, got = gap.close(t, snapshot.Name, want, got)
		report(t, snapshot.Name, corpus.Compare(want, got))
		if last != "" {
			changes := rows(t, Output(t, bin, "diff", last, snapshot.Path, "--output", "jsonl"))
			_, changes = gap.close(t, "diff to "+snapshot.Name, nil, changes)
			report(t, "diff to "+snapshot.Name, corpus.CompareDiff(base, want, changes))
		}
		last, base = snapshot.Path, want
	}
}

// close leaves out the states that cannot be read. Changes have no want.
func (g gap) close(t *testing.T, name string, want, got []corpus.Row) (_, _ []corpus.Row) {
	t.Helper()
	for _, state := range g.raw {
		if len(want) > 0 && !slices.ContainsFunc(got, func(r corpus.Row) bool { return r.State() == state && r.Raw() }) {
			t.Errorf("%s: state %s has no raw value: the gap is closed", name, state)
		}
	}
	left := func(r corpus.Row) bool { return slices.Contains(g.raw, r.State()) }
	return slices.DeleteFunc(slices.Clone(want), left), slices.DeleteFunc(slices.Clone(got), left)
}

// checkRefused wants an error that names the class which stands in the way.
func checkRefused(t *testing.T, bin string, s corpus.Snapshot) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin, "export", s.Path)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil {
		t.Errorf("%s is not refused: the gap is closed", s.Name)
	} else if !strings.Contains(stderr.String(), "org.apache.flink.") && !strings.Contains(stderr.String(), "cg.Types10$") {
		t.Errorf("%s: no class is named: %s", s.Name, stderr.Bytes())
	}
}

func readRows(t *testing.T, file string) []corpus.Row {
	t.Helper()
	r, err := corpus.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rows(t *testing.T, lines []byte) []corpus.Row {
	t.Helper()
	r, err := corpus.ReadRows(bytes.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// report shows the first faults of many.
func report(t *testing.T, what string, faults []string) {
	t.Helper()
	if len(faults) > 0 {
		t.Errorf("%s: %d faults", what, len(faults))
	}
	for _, f := range faults[:min(3, len(faults))] {
		t.Logf("%.600s", f)
	}
}
