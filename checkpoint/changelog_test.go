package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

var changelogs = map[string][]string{
	fixture.ChangelogHeap:    {"chk-1", "chk-2", "chk-3", "chk-4", "chk-5"},
	fixture.ChangelogRocksDB: {"chk-1", "chk-2"},
}

// TestRowsOfChangelogs for both base backends and both lines of Flink, with and without a base, with and without changes.
func TestRowsOfChangelogs(t *testing.T) {
	for archive, names := range changelogs {
		dir := fixture.Unpack(t, archive)
		for _, name := range names {
			for _, memory := range []*spill.Memory{nil, spill.NewMemory(1)} {
				s := open(t, fixture.One(t, dir, "checkpoints/*/"+name), checkpoint.Options{TempDir: t.TempDir(), Memory: memory})
				if diff := cmp.Diff(expected(t, filepath.Join(dir, "expected", name+".jsonl.gz")), rowsOf(t, s)); diff != "" {
					t.Errorf("%s, %s: -want +got\n%s", archive, name, diff)
				}
			}
		}
	}
}

func TestLookupInChangelogs(t *testing.T) {
	for archive := range changelogs {
		s := open(t, fixture.One(t, fixture.Unpack(t, archive), "checkpoints/*/chk-2"), checkpoint.Options{})
		table, err := s.Table(t.Context(), "customers-op", "purchases")
		if err != nil {
			t.Fatal(err)
		}
		lookupAll(t, table)
	}
}

// TestRangesOfChangelogs: the ranges of any number of partitions hold each row once.
func TestRangesOfChangelogs(t *testing.T) {
	for archive := range changelogs {
		s := open(t, fixture.One(t, fixture.Unpack(t, archive), "checkpoints/*/chk-2"), checkpoint.Options{})
		table, err := s.Table(t.Context(), "customers-op", "_timer_state/event_user-timers")
		if err != nil {
			t.Fatal(err)
		}
		whole, err := table.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for i := range 5 {
			groups := checkpoint.Partition(i, 5, table.MaxParallelism())
			for row, err := range table.Rows(t.Context(), groups) {
				if err != nil || row.KeyGroup < groups.First || row.KeyGroup > groups.Last {
					t.Fatalf("key group %d in %s, %v", row.KeyGroup, groups, err)
				}
				sum++
			}
		}
		if sum != whole || sum == 0 {
			t.Errorf("%s: %d rows in parts, %d in whole", archive, sum, whole)
		}
	}
}

// TestPinnedChangelogOutlivesItsFiles: files of changes are pinned whole, whatever their handles say of their size.
func TestPinnedChangelogOutlivesItsFiles(t *testing.T) {
	for archive, names := range changelogs {
		dir := fixture.Unpack(t, archive)
		pins, err := checkpoint.OpenPins(t.TempDir(), storage.Local())
		if err != nil {
			t.Fatal(err)
		}
		held := map[string]*checkpoint.Pin{}
		for i, name := range names {
			found := checkpoint.Found{Location: fixture.One(t, dir, "checkpoints/*/"+name), Job: "job", ID: int64(i)}
			if held[name], err = pins.Take(t.Context(), "holder", found, []string{"customers-op"}, checkpoint.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, gone := range []string{"checkpoints", "dstl"} {
			if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
				t.Fatal(err)
			}
		}
		for name, pin := range held {
			s, err := pin.Open(t.Context(), checkpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected(t, filepath.Join(dir, "expected", name+".jsonl.gz")), rowsOf(t, s)); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", archive, name, diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCutChangesStopTheTable: no prefix of the changes passes for all of them.
func TestCutChangesStopTheTable(t *testing.T) {
	dir := fixture.Unpack(t, fixture.ChangelogHeap)
	location := fixture.One(t, dir, "checkpoints/*/chk-1")
	files, err := filepath.Glob(filepath.Join(dir, "dstl/*/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	hit := 0
	for _, name := range files {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(whole); n += 1 + len(whole)/7 {
			if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := readAll(t.Context(), location); err != nil {
				hit++
				if !errors.Is(err, fault.ErrTruncated) {
					t.Errorf("cut at %d of %d: %v", n, len(whole), err)
				}
			}
		}
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if hit < 7 || hit >= 7*len(files) {
		t.Errorf("%d cuts were noticed in %d files, of which this snapshot needs some", hit, len(files))
	}
	if err := readAll(t.Context(), location); err != nil {
		t.Error(err)
	}
}
