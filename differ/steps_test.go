package differ_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/state"
)

// said is a diff as text, and how it was made.
func said(ctx context.Context, base, next *checkpoint.Table, groups checkpoint.KeyGroups, m checkpoint.Method) (lines []string, steps []differ.Step, err error) {
	o := differ.Options{Method: m, Explain: func(s differ.Step) { steps = append(steps, s) }}
	for c, err := range differ.Diff(ctx, base, next, groups, o) {
		if err != nil {
			return lines, steps, err
		}
		lines = append(lines, c.Op.String()+rowText(c.Before)+rowText(c.After))
	}
	return lines, steps, nil
}

func rowText(r *state.Row) string {
	if r == nil {
		return " -"
	}
	return fmt.Sprintf(" %s/%s/%s/%s/%d", r.Key, r.Namespace, r.MapKey, r.Value, r.TTL)
}

// checkpoints opens those of the job in dir, pinned or where they are.
func checkpoints(t *testing.T, dir string, pinned bool) []*checkpoint.Snapshot {
	t.Helper()
	found, err := checkpoint.Discover(t.Context(), storage.Local(), dir, "")
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}
	pins, err := checkpoint.OpenPins(t.TempDir(), storage.Local())
	if err != nil {
		t.Fatal(err)
	}
	var out []*checkpoint.Snapshot
	for _, f := range found {
		open := func(ctx context.Context, o checkpoint.Options) (*checkpoint.Snapshot, error) {
			return checkpoint.Open(ctx, f.Location, o)
		}
		if pinned {
			pin, err := pins.Take(t.Context(), "test", f, nil, checkpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			open = pin.Open
		}
		s, err := open(t.Context(), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		out = append(out, s)
	}
	if pinned {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestMethodsAgree: of any two checkpoints of a real job, and any partition, each way to compare gives the same changes. Pinned
// ones know their common files too.
func TestMethodsAgree(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		dir := filepath.Join(fixture.Unpack(t, fixture.RocksDB), "checkpoints")
		changes, skipped := 0, 0
		snaps := checkpoints(t, dir, pinned)
		for _, a := range snaps {
			for _, b := range snaps {
				for _, pair := range tables(t, a, b) {
					for _, groups := range []checkpoint.KeyGroups{checkpoint.AllKeyGroups(pair[0].MaxParallelism()), {First: 10, Last: 70}, {First: 3, Last: 3}} {
						want, _, err := said(t.Context(), pair[0], pair[1], groups, checkpoint.Merge)
						if err != nil {
							t.Fatal(err)
						}
						got, steps, err := said(t.Context(), pair[0], pair[1], groups, checkpoint.ByFile)
						if err != nil || !slices.Equal(got, want) {
							t.Errorf("%d to %d, %s, key groups %s: %v\ngot  %q\nwant %q", a.ID(), b.ID(), pair[0].Name, groups, err, got, want)
						}
						changes += len(want)
						for _, s := range steps {
							if s.Method == checkpoint.ByFile {
								skipped++
							}
						}
					}
				}
			}
		}
		if changes < 100 || skipped < 50 {
			t.Errorf("pinned %t: %d changes, %d stretches by file: too few to show anything", pinned, changes, skipped)
		}
	}
}

// tables pairs the keyed states of two snapshots.
func tables(t *testing.T, a, b *checkpoint.Snapshot) (out [][2]*checkpoint.Table) {
	t.Helper()
	for _, o := range a.Operators() {
		list, err := o.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if y, err := b.Table(t.Context(), o.ID, x.Name); err == nil && x.Keyed() {
				out = append(out, [2]*checkpoint.Table{x, y})
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no tables")
	}
	return out
}

// TestLostFilesStopTheDiff: a table that only one side has is missed by that side, and no change is made up for it.
func TestLostFilesStopTheDiff(t *testing.T) {
	for _, ofBase := range []bool{true, false} {
		dir := filepath.Join(fixture.Unpack(t, fixture.RocksDB), "checkpoints")
		snaps := checkpoints(t, dir, false)
		base, next := snaps[1], snaps[2]
		lost, kept := tableFiles(next), tableFiles(base) // the newer one has tables of its own
		if ofBase {
			base, next = next, base
		}
		for name := range kept {
			delete(lost, name)
		}
		for name := range lost {
			if err := os.Remove(fixture.One(t, dir, "*/shared/"+name)); err != nil {
				t.Fatal(err)
			}
		}
		failed := 0
		for _, pair := range tables(t, base, next) {
			_, _, err := said(t.Context(), pair[0], pair[1], checkpoint.AllKeyGroups(pair[0].MaxParallelism()), checkpoint.ByFile)
			if err == nil {
				continue
			}
			failed++
			if of := new(differ.BaseError); !errors.Is(err, os.ErrNotExist) || errors.As(err, &of) != ofBase {
				t.Errorf("lost by base: %t, err = %v", ofBase, err)
			}
		}
		if failed == 0 {
			t.Errorf("lost by base: %t, nobody missed %v", ofBase, lost)
		}
	}
}

// tableFiles are the names under which the tables of databases are stored.
func tableFiles(s *checkpoint.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, o := range s.Metadata.Operators {
		for _, sub := range o.Subtasks {
			h, ok := sub.ManagedKeyed.(*flink.IncrementalHandle)
			if !ok {
				continue
			}
			for _, f := range h.Shared {
				if strings.HasSuffix(f.Name, ".sst") {
					out[filepath.Base(f.Stream.Path)] = true
				}
			}
		}
	}
	return out
}
