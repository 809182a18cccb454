package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
)

// TestEntropy reads checkpoints and savepoints whose files lie in paths with a random part, moved away from where they were written. Files whose
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
		for _, snapshot := range s.Snapshots {
			location, want := filepath.Join(dir, snapshot.Path), len(expected(t, filepath.Join(dir, snapshot.Expected)))
			checkMapped(t, location, namesItsFiles(t, location), elsewhere, want)
		}
	}
}

// namesItsFiles wants each file of a snapshot to be named as not found, and gives what stands before the random part of their paths.
func namesItsFiles(t *testing.T, location string) (from string) {
	t.Helper()
	lost := open(t, location, checkpoint.Options{})
	files := map[string]bool{}
	for ref := range lost.Metadata.StreamHandles() {
		files[ref.Handle.Path] = true
		from = randomPart.ReplaceAllString(ref.Handle.Path, "")
	}
	if faults := lost.Unresolved(t.Context()); len(faults) != len(files) || len(files) == 0 {
		t.Errorf("%s: %d files are gone, %d are named: %v", location, len(files), len(faults), errors.Join(faults...))
	}
	if err := readAll(t.Context(), location); err == nil || !strings.Contains(err.Error(), "neither there nor beside") {
		t.Errorf("%s, read without its files: %v", location, err)
	}
	return from
}

var randomPart = regexp.MustCompile("/[0-9a-f]{4}/(checkpoints|savepoints)/.*")

func checkMapped(t *testing.T, location, from, to string, want int) {
	t.Helper()
	mapped := open(t, location, checkpoint.Options{PathMap: []checkpoint.PathMap{{From: from, To: to}}})
	if faults := mapped.Unresolved(t.Context()); len(faults) > 0 {
		t.Errorf("%s, with a mapping from %s: %v", location, from, errors.Join(faults...))
	}
	if got := len(rowsOf(t, mapped)); got != want {
		t.Errorf("%s: %d rows by the mapping, want %d", location, got, want)
	}
}
