package demodata

import (
	"os"
	"path"
	"path/filepath"
	"testing"
)

func TestSnapshotsArrive(t *testing.T) {
	all, err := Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 {
		t.Fatalf("%d snapshots, want 5", len(all))
	}
	dir := t.TempDir()
	for i, s := range all {
		metadata := filepath.Join(dir, s.Path, "_metadata")
		if _, err := os.Stat(metadata); !os.IsNotExist(err) {
			t.Errorf("%s is there before it arrives: %v", s.Path, err)
		}
		if err := s.Arrive(dir); err != nil {
			t.Fatal(err)
		}
		if last := s.files[len(s.files)-1].path; last != s.Path+"/_metadata" {
			t.Errorf("%s ends with %s", s.Path, last)
		}
		if info, err := os.Stat(metadata); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", metadata, err)
		}
		if _, err := os.Stat(filepath.Join("testdata", path.Base(s.Path)+".jsonl")); err != nil {
			t.Errorf("expected rows: %v", err)
		}
		if i > 0 && path.Dir(s.Path) != path.Dir(all[i-1].Path) {
			t.Errorf("%s is of another job than %s", s.Path, all[i-1].Path)
		}
	}
}
