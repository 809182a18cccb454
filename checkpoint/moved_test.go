package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
)

// TestEntropy reads checkpoints whose files lie in paths with a random part, moved away from where they were written. Files whose
// directory went elsewhere are found by a mapping, and without one each is named.
func TestEntropy(t *testing.T) {
	root := fixture.Unpack(t, fixture.Entropy)
	for _, line := range []string{"1.20", "2.3"} {
		dir := filepath.Join(root, line)
		s := readScenario(t, dir)
		for i := range s.Snapshots {
			if faults := s.checkRows(t, dir, i).Unresolved(t.Context()); len(faults) > 0 {
				t.Errorf("%s: %v", s.Snapshots[i].Path, faults)
			}
		}

		random, err := filepath.Glob(filepath.Join(dir, "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"))
		if err != nil || len(random) < 2 {
			t.Fatalf("random parts: %v, %v", random, err)
		}
		elsewhere := t.TempDir()
		for _, r := range random {
			if err := os.Rename(r, filepath.Join(elsewhere, filepath.Base(r))); err != nil {
				t.Fatal(err)
			}
		}
		last := len(s.Snapshots) - 1
		location := filepath.Join(dir, s.Snapshots[last].Path)
		lost := open(t, location, checkpoint.Options{})
		faults := lost.Unresolved(t.Context())
		var from string
		files := map[string]bool{}
		for ref := range lost.Metadata.StreamHandles() {
			files[ref.Handle.Path] = true
			at := strings.Index(ref.Handle.Path, "/checkpoints/")
			from = ref.Handle.Path[:at-len("/abcd")]
		}
		if len(faults) != len(files) || len(files) == 0 {
			t.Errorf("%d files are gone, %d are named: %v", len(files), len(faults), errors.Join(faults...))
		}
		if err := readAll(t.Context(), location); err == nil || !strings.Contains(err.Error(), "neither there nor beside") {
			t.Errorf("read without its files: %v", err)
		}
		mapped := open(t, location, checkpoint.Options{PathMap: []checkpoint.PathMap{{From: from, To: elsewhere}}})
		if faults := mapped.Unresolved(t.Context()); len(faults) > 0 {
			t.Errorf("with a mapping from %s: %v", from, errors.Join(faults...))
		}
		if got, want := len(rowsOf(t, mapped)), len(expected(t, filepath.Join(dir, s.Snapshots[last].Expected))); got != want {
			t.Errorf("%d rows by the mapping, want %d", got, want)
		}
	}
}
