package e2e

import (
	"strings"
	"testing"

	"github.com/statebridge/statebridge/e2e/corpus"
)

// The same job on Flink 1.20 and on 2.3 writes other bytes for the same key where Kryo does it: a key is found by what it means.
func TestKeysOfAnotherSerializer(t *testing.T) {
	bin := Build(t)
	canonical := find(t, "flink1-serializers_heap", "savepoint-canonical")
	checkpoint := find(t, "flink2-serializers_rocksdb", "checkpoint")
	for _, pair := range [][2]string{{canonical, checkpoint}, {checkpoint, canonical}} {
		out := string(Output(t, bin, "diff", pair[0], pair[1], "--operator", "key-uuid-kryo", "--summary", "--output", "jsonl"))
		for line := range strings.Lines(out) {
			if !strings.HasSuffix(strings.TrimSpace(line), `"created":0,"updated":0,"deleted":0}`) {
				t.Errorf("rows that both have look changed: %s", line)
			}
		}
		if n := strings.Count(out, "\n"); n != 3 {
			t.Errorf("%d states compared, want 3: %s", n, out)
		}
	}
}

// find gives the first snapshot of a kind in a scenario.
func find(t *testing.T, scenario, kind string) string {
	t.Helper()
	for _, s := range corpus.Open(t, scenario) {
		for _, snapshot := range s.Snapshots {
			if snapshot.Kind == kind {
				return snapshot.Path
			}
		}
	}
	t.Fatalf("no %s in %s", kind, scenario)
	return ""
}
