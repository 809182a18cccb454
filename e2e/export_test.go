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

// A gap is what of a scenario is not read yet; each entry fails the test once it is.
type gap struct {
	raw     []string        // states of which some values come out as $raw
	timers  bool            // timers are left out
	refused map[string]bool // kinds of snapshots that are refused, since values of unknown length stand in the way of those behind them
}

var serializers = []string{"v_avro", "l_avro", "v_object_kryo", "v_opaque_kryo", "v_registered_kryo"}

var gaps = map[string]gap{
	"flink1-customers_rocksdb_heap_timers": {timers: true},
	"flink2-serializers_rocksdb":           {raw: serializers},
	"flink1-serializers_heap":              {raw: append([]string{"v_animal", "v_person", "m_long_person"}, serializers...), refused: map[string]bool{"checkpoint": true, "savepoint-native": true}},
}

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

// close leaves out what is not read yet.
func (g gap) close(t *testing.T, name string, want, got []corpus.Row) (_, _ []corpus.Row) {
	t.Helper()
	raw := func(r corpus.Row) bool { return slices.Contains(g.raw, r.State()) }
	if len(g.raw) > 0 && len(want) > 0 && !slices.ContainsFunc(got, func(r corpus.Row) bool { return raw(r) && r.Raw() }) {
		t.Errorf("%s: %q have no raw value: the gap is closed", name, g.raw)
	}
	if g.timers && slices.ContainsFunc(got, func(r corpus.Row) bool { return r.Kind() == "timer" }) {
		t.Errorf("%s: there are timers: the gap is closed", name)
	}
	left := func(r corpus.Row) bool { return raw(r) || g.timers && r.Kind() == "timer" }
	return slices.DeleteFunc(slices.Clone(want), left), slices.DeleteFunc(slices.Clone(got), left)
}

func checkRefused(t *testing.T, bin string, s corpus.Snapshot) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(bin, "export", s.Path)
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
