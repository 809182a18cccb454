package checkpoint_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

func open(t testing.TB, location string, o checkpoint.Options) *checkpoint.Snapshot {
	t.Helper()
	s, err := checkpoint.Open(t.Context(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// rowsOf gives the rows of every state as text, sorted.
func rowsOf(t testing.TB, s *checkpoint.Snapshot) []string {
	t.Helper()
	var out []string
	for _, o := range s.Operators() {
		tables, err := o.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			for row, err := range table.Rows(t.Context(), checkpoint.AllKeyGroups(table.MaxParallelism())) {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, line(table.Operator.ID, table.Name, row))
			}
		}
	}
	slices.Sort(out)
	return out
}

func line(operator, name string, r *state.Row) string {
	return strings.Join([]string{operator, name, normal(r.Key), normal(r.Namespace), normal(r.MapKey), normal(r.Value)}, " | ")
}

// normal brings JSON that may be escaped or ordered otherwise into one form.
func normal(b []byte) string {
	if b == nil {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// expected reads an expected file into the same form.
func expected(t testing.TB, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for d := json.NewDecoder(z); d.More(); {
		var r struct {
			UID       string          `json:"operator_uid"`
			State     string          `json:"state"`
			Key       json.RawMessage `json:"key"`
			Namespace json.RawMessage `json:"namespace"`
			MapKey    json.RawMessage `json:"map_key"`
			Value     json.RawMessage `json:"value"`
		}
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, line(state.OperatorID(r.UID), r.State, &state.Row{Key: r.Key, Namespace: r.Namespace, MapKey: r.MapKey, Value: r.Value}))
	}
	slices.Sort(out)
	return out
}

func TestRowsOfRealSnapshots(t *testing.T) {
	for archive, snapshots := range map[string][]string{
		fixture.Heap:      {"checkpoints/*/chk-1", "checkpoints/*/chk-4"},
		fixture.RocksDB:   {"checkpoints/*/chk-1", "checkpoints/*/chk-3", "checkpoints/*/chk-5"},
		fixture.Canonical: {"sp-1/savepoint-*", "sp-2/savepoint-*"},
		fixture.ForSt:     {"checkpoints/*/chk-1"},
	} {
		dir := fixture.Unpack(t, archive)
		for _, pattern := range snapshots {
			t.Run(archive+"/"+pattern, func(t *testing.T) {
				location := fixture.One(t, dir, pattern)
				name := filepath.Base(location)
				if strings.HasPrefix(name, "savepoint") {
					name = filepath.Base(filepath.Dir(location))
				}
				got, want := rowsOf(t, open(t, location, checkpoint.Options{})), expected(t, filepath.Join(dir, "expected", name+".jsonl.gz"))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

// TestKeyGroupRangesPartitionTheTable: the ranges of any number of partitions hold each row once.
func TestKeyGroupRangesPartitionTheTable(t *testing.T) {
	s := open(t, fixture.One(t, fixture.Unpack(t, fixture.RocksDB), "checkpoints/*/chk-5"), checkpoint.Options{})
	table, err := s.Table(t.Context(), "customers-op", "purchases")
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 7, 128} {
		var got int64
		for i := range n {
			groups := checkpoint.Partition(i, n, table.MaxParallelism())
			for row, err := range table.Rows(t.Context(), groups) {
				if err != nil {
					t.Fatal(err)
				}
				if row.KeyGroup < groups.First || row.KeyGroup > groups.Last {
					t.Fatalf("key group %d in range %s", row.KeyGroup, groups)
				}
				got++
			}
		}
		if got != want {
			t.Errorf("%d partitions hold %d rows, the table %d", n, got, want)
		}
	}
}

// TestKeysAscend for every backend, also when sorting has to spill, and each comes once: a diff walks two snapshots side by side. The elements of
// lists of an operator have no key.
func TestKeysAscend(t *testing.T) {
	for archive, pattern := range map[string]string{
		fixture.Heap: "checkpoints/*/chk-4", fixture.RocksDB: "checkpoints/*/chk-5", fixture.Canonical: "sp-2/savepoint-*",
		fixture.ChangelogHeap: "checkpoints/*/chk-2", fixture.ChangelogRocksDB: "checkpoints/*/chk-2",
	} {
		s := open(t, fixture.One(t, fixture.Unpack(t, archive), pattern), checkpoint.Options{TempDir: t.TempDir(), Memory: spill.NewMemory(1)})
		for _, table := range allTables(t, s) {
			c, err := table.Cursor(t.Context(), checkpoint.AllKeyGroups(table.MaxParallelism()))
			if err != nil {
				t.Fatal(err)
			}
			var last []byte
			for c.Next() {
				if last != nil && table.Keyed() && bytes.Compare(last, c.Key()) >= 0 {
					t.Fatalf("%s, %s: key %x after %x", archive, table.Name, c.Key(), last)
				}
				last = bytes.Clone(c.Key())
			}
			if err := errors.Join(c.Err(), c.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLookupFindsEveryRow, and nothing for keys that are not there.
func TestLookupFindsEveryRow(t *testing.T) {
	for archive, pattern := range map[string]string{fixture.Heap: "checkpoints/*/chk-4", fixture.RocksDB: "checkpoints/*/chk-5", fixture.Canonical: "sp-2/savepoint-*"} {
		s := open(t, fixture.One(t, fixture.Unpack(t, archive), pattern), checkpoint.Options{})
		for _, o := range s.Operators() {
			tables, err := o.Tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				lookupAll(t, table)
			}
		}
	}
}

func lookupAll(t *testing.T, table *checkpoint.Table) {
	t.Helper()
	all := checkpoint.AllKeyGroups(table.MaxParallelism())
	byKey := map[string][]string{}
	for row, err := range table.Rows(t.Context(), all) {
		if err != nil {
			t.Fatal(err)
		}
		byKey[string(row.Key)] = append(byKey[string(row.Key)], line("", table.Name, row))
		whole := checkpoint.Key{Key: bytes.Clone(row.Key), Namespace: bytes.Clone(row.Namespace), MapKey: bytes.Clone(row.MapKey)}
		if got := lookup(t, table, whole); table.Kind != state.KindTimer && (len(got) != 1 || got[0] != line("", table.Name, row)) {
			t.Fatalf("%s: looked up whole key %s: %v", table.Name, row.Key, got)
		}
	}
	for key, want := range byKey {
		got := lookup(t, table, checkpoint.Key{Key: []byte(key)})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s, key %s: %v, want %v", table.Name, key, got, want)
		}
	}
	for _, absent := range []string{`"no such key"`, `987654321`} {
		if byKey[absent] == nil {
			for row, err := range table.Lookup(t.Context(), checkpoint.Key{Key: []byte(absent)}) {
				if err == nil {
					t.Fatalf("%s: key %s gives %s", table.Name, absent, row.Value)
				}
				if !errors.Is(err, checkpoint.ErrKeyType) {
					t.Fatal(err)
				}
			}
		}
	}
}

func lookup(t *testing.T, table *checkpoint.Table, k checkpoint.Key) (out []string) {
	t.Helper()
	for row, err := range table.Lookup(t.Context(), k) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line("", table.Name, row))
	}
	return out
}

func TestErrorsNameWhatThereIs(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Heap)
	s := open(t, fixture.One(t, dir, "checkpoints/*/chk-4"), checkpoint.Options{})
	_, err := s.Table(t.Context(), "nobody-op", "age")
	missing := new(checkpoint.NotFoundError)
	if !errors.As(err, &missing) || !slices.Contains(missing.Have, "users-op") {
		t.Errorf("unknown operator: %v", err)
	}
	_, err = s.Table(t.Context(), "users-op", "nothing")
	if !errors.As(err, &missing) || !slices.Contains(missing.Have, "age") {
		t.Errorf("unknown state: %v", err)
	}
	_, err = checkpoint.Open(t.Context(), filepath.Dir(fixture.One(t, dir, "checkpoints/*/chk-4")), checkpoint.Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "chk-4") {
		t.Errorf("a directory of snapshots: %v", err)
	}
}

// TestDamagedMetadataIsRefused: cut anywhere, it is "not ready" or corrupt, never another snapshot.
func TestDamagedMetadataIsRefused(t *testing.T) {
	file := filepath.Join(fixture.One(t, fixture.Unpack(t, fixture.Heap), "checkpoints/*/chk-1"), checkpoint.MetadataFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/97 {
		if err := os.WriteFile(file, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.Open(t.Context(), file, checkpoint.Options{}); !errors.Is(err, fault.ErrTruncated) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
}

// TestMissingFileStopsTheTable: with a file gone, no prefix of the rows passes for the whole.
func TestMissingFileStopsTheTable(t *testing.T) {
	dir := fixture.Unpack(t, fixture.RocksDB)
	location := fixture.One(t, dir, "checkpoints/*/chk-5")
	shared, err := filepath.Glob(filepath.Join(dir, "checkpoints/*/shared/*"))
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, name := range shared {
		hidden := name + ".hidden"
		if err := os.Rename(name, hidden); err != nil {
			t.Fatal(err)
		}
		if err := readAll(t.Context(), location); err != nil {
			failures++
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Errorf("error does not name %s: %v", filepath.Base(name), err)
			}
		}
		if err := os.Rename(hidden, name); err != nil {
			t.Fatal(err)
		}
	}
	if failures == 0 {
		t.Error("no file was missed")
	}
	if err := readAll(t.Context(), location); err != nil {
		t.Error(err)
	}
}

func readAll(ctx context.Context, location string) error {
	s, err := checkpoint.Open(ctx, location, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, o := range s.Operators() {
		tables, err := o.Tables(ctx)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := t.Count(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
