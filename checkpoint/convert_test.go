package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// appendText is a row as text.
func appendText(dst []byte, r *state.Row) ([]byte, error) {
	return fmt.Appendf(dst, "%s %s %s %s %d\n", r.Key, r.Namespace, r.MapKey, r.Value, r.TTL), nil
}

// converted gives what Convert writes with so many workers.
func converted(ctx context.Context, t *checkpoint.Table, groups checkpoint.KeyGroups, workers int) (text []byte, err error) {
	rows := 0
	err = t.Convert(ctx, groups, checkpoint.Converter{
		Workers: workers,
		Append:  func() func([]byte, *state.Row) ([]byte, error) { return appendText },
		Write: func(b []byte, n int) error {
			text, rows = append(text, b...), rows+n
			return nil
		},
	})
	if lines := bytes.Count(text, []byte("\n")); lines != rows {
		err = errors.Join(err, fmt.Errorf("%d lines of %d rows", lines, rows))
	}
	return text, err
}

func oneByOne(t *testing.T, table *checkpoint.Table, groups checkpoint.KeyGroups) (text []byte, err error) {
	for row, err := range table.Rows(t.Context(), groups) {
		if err != nil {
			return text, err
		}
		text, _ = appendText(text, row)
	}
	return text, nil
}

// TestConvertKeepsTheOrder: any number of workers gives the rows of every table in the order of Rows.
func TestConvertKeepsTheOrder(t *testing.T) {
	for _, archive := range []string{fixture.Heap, fixture.RocksDB, fixture.ChangelogRocksDB, fixture.ForSt, fixture.SQL} {
		dir, snapshots := fixture.Unpack(t, archive), []string{}
		for _, pattern := range []string{"*/_metadata", "checkpoints/*/*/_metadata"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			snapshots = append(snapshots, found...)
		}
		for _, table := range allTables(t, open(t, snapshots[len(snapshots)-1], checkpoint.Options{})) {
			all := checkpoint.AllKeyGroups(table.MaxParallelism())
			for _, groups := range []checkpoint.KeyGroups{all, {First: 3, Last: 70}} {
				want, err := oneByOne(t, table, groups)
				if err != nil {
					t.Fatal(err)
				}
				for _, workers := range []int{1, 2, 5, 16} {
					if got, err := converted(t.Context(), table, groups, workers); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s: state %s, %d workers: %v, other rows: %v", archive, table.Name, workers, err, !bytes.Equal(got, want))
					}
				}
			}
		}
	}
}

func allTables(t *testing.T, s *checkpoint.Snapshot) (all []*checkpoint.Table) {
	t.Helper()
	for _, o := range s.Operators() {
		tables, err := o.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tables...)
	}
	return all
}

// TestConvertEnds: whatever fails, Convert says what, writes the rows that came before, and leaves no goroutine behind.
func TestConvertEnds(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Heap)
	table := largest(t, open(t, fixture.One(t, dir, "checkpoints/*/chk-4"), checkpoint.Options{}))
	all := checkpoint.AllKeyGroups(table.MaxParallelism())
	before := runtime.NumGoroutine()
	broken := errors.New("broken")
	for name, c := range map[string]checkpoint.Converter{
		"append": {Append: func() func([]byte, *state.Row) ([]byte, error) {
			return func(dst []byte, _ *state.Row) ([]byte, error) { return dst, broken }
		}, Write: func([]byte, int) error { return nil }},
		"write": {Append: func() func([]byte, *state.Row) ([]byte, error) { return appendText }, Write: func([]byte, int) error { return broken }},
	} {
		for _, c.Workers = range []int{1, 8} {
			if err := table.Convert(t.Context(), all, c); !errors.Is(err, broken) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := converted(ended, table, all, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// largest gives the table of most rows.
func largest(t *testing.T, s *checkpoint.Snapshot) (found *checkpoint.Table) {
	t.Helper()
	most := int64(-1)
	for _, table := range allTables(t, s) {
		n, err := table.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n > most {
			found, most = table, n
		}
	}
	return found
}

// TestConvertStopsAtDamage: of a damaged table come the rows before the damage, and then the fault.
func TestConvertStopsAtDamage(t *testing.T) {
	dir := fixture.Unpack(t, fixture.RocksDB)
	fixture.Spoil(t, dir, "checkpoints/*/shared/*", func(b []byte) []byte {
		if !bytes.HasSuffix(b, []byte("\xf7\xcf\xf4\x85\xb7\x41\xe2\x88")) {
			return nil // no table
		}
		return fixture.Flip(b)
	})
	faults := 0
	for _, table := range allTables(t, open(t, fixture.One(t, dir, "checkpoints/*/chk-5"), checkpoint.Options{})) {
		all := checkpoint.AllKeyGroups(table.MaxParallelism())
		want, wantErr := oneByOne(t, table, all)
		for _, workers := range []int{1, 6} {
			got, err := converted(t.Context(), table, all, workers)
			if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("state %s, %d workers: %v, one by one %v", table.Name, workers, err, wantErr)
			}
			if err != nil {
				faults++
			}
			if !bytes.Equal(got, want) {
				t.Errorf("state %s, %d workers: %d bytes before the fault, %d one by one", table.Name, workers, len(got), len(want))
			}
		}
	}
	if faults == 0 {
		t.Error("nothing was damaged")
	}
}
