package e2e

import (
	"bytes"
	"path"
	"path/filepath"
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

func checkScenario(t *testing.T, bin string, s corpus.Scenario) {
	var base []corpus.Row
	for i, snapshot := range s.Snapshots {
		want := readRows(t, snapshot.Expected)
		got := rows(t, Output(t, bin, "export", snapshot.Path, "--output", "jsonl"))
		report(t, snapshot.Name, corpus.Compare(want, got))
		if i > 0 {
			changes := rows(t, Output(t, bin, "diff", s.Snapshots[i-1].Path, snapshot.Path, "--output", "jsonl"))
			report(t, "diff to "+snapshot.Name, corpus.CompareDiff(base, want, changes))
		}
		base = want
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
