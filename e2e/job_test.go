package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The harness itself: a moving job forgets its oldest checkpoints and ends with one more, whose expected rows are there.
func TestJobMoves(t *testing.T) {
	j := StartJob(t, JobOptions{Args: []string{"--seconds", "600", "--interval", "300", "--accounts", "50"}})
	first := j.Snapshot(1)
	j.Snapshot(6)
	last := j.Stop()
	if last.CheckpointID < 6 || last.Rows == 0 {
		t.Errorf("last = %+v, want checkpoint 6 or later, with rows", last)
	}
	if _, err := os.Stat(filepath.Join(last.Path, "_metadata")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(last.Expected); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first.Path); !os.IsNotExist(err) {
		t.Errorf("the first checkpoint is still there: %v", err)
	}
}
