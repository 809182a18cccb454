package checkpoint_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/fixture/large"
	"github.com/statebridge/statebridge/fault"
)

// TestRowsBeyondTheLimit: a row that is larger than MaxRow is an error that says so, however it is reached, and never left out.
func TestRowsBeyondTheLimit(t *testing.T) {
	s := large.Snapshot{ID: 1, Rows: 10, ValueBytes: 5000}
	for form, write := range map[string]func(string) error{"heap": s.Heap, "rocksdb": s.RocksDB} {
		dir := t.TempDir()
		if err := write(dir); err != nil {
			t.Fatal(err)
		}
		for limit, refused := range map[int]bool{0: false, 6000: false, 4000: true} {
			table, err := open(t, dir, checkpoint.Options{MaxRow: limit}).Table(t.Context(), large.Operator, large.State)
			if err != nil {
				t.Fatal(err)
			}
			_, byRows := oneByOne(t, table, checkpoint.AllKeyGroups(table.MaxParallelism()))
			_, byConvert := converted(t.Context(), table, checkpoint.AllKeyGroups(table.MaxParallelism()), 4)
			var byLookup error
			for _, err := range table.Lookup(t.Context(), checkpoint.Key{Key: []byte(`"` + large.Key(3) + `"`)}) {
				byLookup = err
			}
			for _, err := range []error{byRows, byConvert, byLookup} {
				if (err != nil) != refused || refused && (!errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), "no more than 4000")) {
					t.Errorf("%s, limit %d: %v", form, limit, err)
				}
			}
		}
	}
}

// TestDifferencesBeyondTheLimit: so is a changed row when only the files that differ are read, on the side whose limit it is.
func TestDifferencesBeyondTheLimit(t *testing.T) {
	at := filepath.Dir(filepath.Dir(fixture.One(t, fixture.Unpack(t, fixture.RocksDB), "checkpoints/*/chk-2/_metadata")))
	for limits, want := range map[[2]int]string{{0, 0}: "", {10, 0}: "base", {0, 10}: "next", {1 << 20, 1 << 20}: ""} {
		var snaps [2]*checkpoint.Snapshot
		for i, chk := range []string{"chk-2", "chk-3"} {
			snaps[i] = open(t, filepath.Join(at, chk), checkpoint.Options{MaxRow: limits[i]})
		}
		byFile, refused := 0, ""
		for _, o := range snaps[1].Operators() {
			tables, err := o.Tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, next := range tables {
				base, err := snaps[0].Table(t.Context(), o.ID, next.Name)
				if err != nil {
					continue // there was none
				}
				for _, s := range next.Compare(base, checkpoint.AllKeyGroups(next.MaxParallelism()), checkpoint.ByFile) {
					if s.Method == checkpoint.ByFile {
						byFile++
						refused = cmp.Or(refused, refusedSide(t, &s))
					}
				}
			}
		}
		if byFile == 0 || refused != want {
			t.Errorf("limits %v: %d stretches by file, refused: %q, want %q", limits, byFile, refused, want)
		}
	}
}

// refusedSide walks a stretch and says which side had a row that was too large.
func refusedSide(t *testing.T, s *checkpoint.Stretch) string {
	t.Helper()
	d := s.Differences(t.Context())
	defer d.Close()
	for d.Next() {
	}
	switch err := d.Err(); {
	case err == nil:
		return ""
	case !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), "no more than 10"):
		t.Fatal(err)
	case d.BaseFailed():
		return "base"
	}
	return "next"
}
