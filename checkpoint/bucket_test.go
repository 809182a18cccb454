package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// buckets are the fixtures of package fluss, and the address of a bucket in each.
var buckets = map[string]string{
	"compacted":            "kv/corpus/compacted_pk_id-0/0",
	"compacted-many-types": "kv/corpus/compacted_pk_many_types-6/0",
	"compacted-evolved":    "kv/corpus/compacted_schema_evolution-3/0",
	"indexed":              "kv/corpus/indexed_pk_id-1/0",
	"lance":                "kv/corpus/lance_pk_id-9/0",
	"paimon":               "kv/corpus/paimon_pk_id-7/0",
	"paimon-prefix":        "kv/corpus/paimon_v2_prefix_bucket-12/0",
	"partitioned":          "kv/corpus/partitioned-5/p0-p0/0",
}

func unpackBucket(t testing.TB, name string) (dir string, table *state.FlussTable) {
	t.Helper()
	dir = fixture.Unzip(t, "fluss/testdata/"+name+".zip")
	b, err := os.ReadFile(filepath.Join(dir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if table, err = state.ParseFlussTable("schema.json", b); err != nil {
		t.Fatal(err)
	}
	return dir, table
}

// onlyTable opens a snapshot of a bucket.
func onlyTable(t testing.TB, location string, table *state.FlussTable) *Table {
	t.Helper()
	s, err := Open(t.Context(), location, Options{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	tables, err := s.Operators()[0].Tables(t.Context())
	if err != nil || len(tables) != 1 {
		t.Fatal(tables, err)
	}
	return tables[0]
}

// expectedRow is a row as the fixture has it: arrays, as the columns stand.
type expectedRow struct{ Key, Value json.RawMessage }

func expectedRows(t testing.TB, file string) (rows []expectedRow) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r expectedRow
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// members gives the elements of an array, or names and values of an object in their order.
func members(t testing.TB, text []byte) (names []string, values []any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	open, err := d.Token()
	for err == nil && d.More() {
		if open == json.Delim('{') {
			var name json.Token
			name, err = d.Token()
			names = append(names, name.(string))
		}
		var v any
		err = errors.Join(err, d.Decode(&v))
		values = append(values, v)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return names, values
}

// TestBuckets reads every row of real snapshots, in place and by look-up, and the columns that it makes.
func TestBuckets(t *testing.T) {
	for name, bucket := range buckets {
		dir, table := unpackBucket(t, name)
		for n := range 3 {
			t.Run(fmt.Sprintf("%s/snap-%d", name, n), func(t *testing.T) {
				location := filepath.Join(dir, bucket, fmt.Sprintf("snap-%d", n))
				want := expectedRows(t, filepath.Join(dir, fmt.Sprintf("snap-%d.jsonl", n)))
				checkRows(t, onlyTable(t, location, table), want)
				checkRows(t, onlyTable(t, location+"/_METADATA", table), want)
			})
		}
	}
}

func checkRows(t *testing.T, table *Table, want []expectedRow) {
	t.Helper()
	got := map[string][]byte{}
	for row, err := range table.Rows(t.Context(), AllKeyGroups(table.MaxParallelism())) {
		if err != nil {
			t.Fatal(err)
		}
		got[string(row.Key)] = bytes.Clone(row.Value)
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for _, w := range want {
		var key bytes.Buffer
		if err := json.Compact(&key, w.Key); err != nil {
			t.Fatal(err)
		}
		compareRow(t, table, key.String(), got[key.String()], w.Value)
		found := 0
		for row, err := range table.Lookup(t.Context(), Key{Key: key.Bytes()}) {
			if err != nil {
				t.Fatal(err)
			}
			if found++; !bytes.Equal(row.Value, got[key.String()]) {
				t.Errorf("%s: looked up %s", &key, row.Value)
			}
		}
		if found != 1 {
			t.Errorf("%s: looked up %d rows", &key, found)
		}
	}
}

// compareRow compares the value, and the row that the default columns make of it.
func compareRow(t *testing.T, table *Table, key string, got, want []byte) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is missing", key)
		return
	}
	_, wanted := members(t, want)
	names, values := members(t, got)
	if !reflect.DeepEqual(values, wanted) {
		t.Errorf("%s: %s, want %s", key, got, want)
	}
	p := state.NewProjection(state.DefaultColumns(table.Schema()))
	flat, err := p.AppendRow(nil, &state.Row{Key: []byte(key), Value: got})
	if err != nil {
		t.Fatal(err)
	}
	columns, cells := members(t, flat)
	if !slices.Equal(columns, names) || !reflect.DeepEqual(cells, wanted) {
		t.Errorf("%s: as columns %s, want %s", key, flat, want)
	}
	if _, err := p.AppendKey(nil, &state.Row{Key: []byte(key)}); err != nil {
		t.Error(err)
	}
}

// TestBucketsMoved reads a bucket that lies in another tree, whatever its directories are called.
func TestBucketsMoved(t *testing.T) {
	dir, table := unpackBucket(t, "partitioned")
	elsewhere := filepath.Join(t.TempDir(), "0", "p0-p0")
	if err := os.CopyFS(elsewhere, os.DirFS(filepath.Join(dir, buckets["partitioned"]))); err != nil {
		t.Fatal(err)
	}
	want := expectedRows(t, filepath.Join(dir, "snap-1.jsonl"))
	checkRows(t, onlyTable(t, filepath.Join(elsewhere, "snap-1"), table), want)
	if err := os.Rename(filepath.Join(elsewhere, "snap-1"), filepath.Join(elsewhere, "copy")); err != nil {
		t.Fatal(err)
	}
	checkRows(t, onlyTable(t, filepath.Join(elsewhere, "copy"), table), want)
	if err := os.RemoveAll(filepath.Join(elsewhere, "shared")); err != nil {
		t.Fatal(err)
	}
	for _, err := range onlyTable(t, filepath.Join(elsewhere, "copy"), table).Rows(t.Context(), KeyGroups{0, 0}) {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/shared/") {
			t.Fatal(err)
		}
	}
}

// TestBucketPinned reads a pinned snapshot after it is gone.
func TestBucketPinned(t *testing.T) {
	dir, table := unpackBucket(t, "compacted-evolved")
	pins, err := OpenPins(t.TempDir(), storage.Local())
	if err != nil {
		t.Fatal(err)
	}
	bucket := filepath.Join(dir, buckets["compacted-evolved"])
	pin, err := pins.Take(t.Context(), "test", Found{Location: bucket + "/snap-2", ID: 2}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(bucket); err != nil {
		t.Fatal(err)
	}
	s, err := pin.Open(t.Context(), Options{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tables, err := s.Operators()[0].Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, tables[0], expectedRows(t, filepath.Join(dir, "snap-2.jsonl")))
}

// TestBucketWithoutSchema shows what is there and says what is missing.
func TestBucketWithoutSchema(t *testing.T) {
	dir, _ := unpackBucket(t, "compacted")
	table := onlyTable(t, filepath.Join(dir, buckets["compacted"], "snap-0"), nil)
	rows := 0
	for row, err := range table.Rows(t.Context(), KeyGroups{0, 0}) {
		if err != nil {
			t.Fatal(err)
		}
		if rows++; !bytes.HasPrefix(row.Key, []byte(`{"$raw":`)) || !bytes.HasPrefix(row.Value, []byte(`{"$raw":`)) {
			t.Fatalf("%s: %s", row.Key, row.Value)
		}
	}
	if notes := table.Operator.Notes(); rows != 32 || len(notes) != 1 || !strings.Contains(notes[0], "--schema FILE") {
		t.Fatal(rows, notes)
	}
}

// TestBucketAndSchemaDisagree: what a schema file says must fit the snapshot.
func TestBucketAndSchemaDisagree(t *testing.T) {
	read := func(ctx context.Context, location string, table *state.FlussTable) error {
		s, err := Open(ctx, location, Options{Table: table})
		if err != nil {
			return err
		}
		defer s.Close()
		tables, err := s.Operators()[0].Tables(ctx)
		for err == nil && len(tables) > 0 {
			for _, err := range tables[0].Rows(ctx, KeyGroups{0, 0}) {
				if err != nil {
					return err
				}
			}
			tables = tables[1:]
		}
		return err
	}
	for _, c := range []struct{ bucket, old, new, says string }{
		{"compacted-evolved", `"2": [`, `"3": [`, "a row has schema id 2, and the schema file has 1 3 only"},
		{"compacted", `"1": [`, `"2": [`, "a row has schema id 1, and the schema file has 2 only"},
		{"partitioned", `"partition_keys"`, `"no_keys"`, "the partition \"p0\" has 1 values, and the schema file has 0 partition_keys"},
		{"compacted", `"primary_key": [`, `"partition_keys": ["g"], "primary_key": ["g",`, "partition_keys are given, and the snapshot is of a table without partitions"},
		{"compacted", `BIGINT NOT NULL`, `STRING NOT NULL`, "key: "},
		{"compacted", `"type": "STRING"`, `"type": "BIGINT"`, "value: "},
		{"indexed", `INDEXED`, `COMPACTED`, "value: "},
		{"compacted", `COMPACTED`, `INDEXED`, "value: "},
		{"paimon", `paimon`, ``, "key: "},
		{"compacted", `"lake_format": ""`, `"lake_format": "paimon"`, "key: "},
	} {
		t.Run(c.bucket+" "+c.new, func(t *testing.T) {
			dir, _ := unpackBucket(t, c.bucket)
			b, err := os.ReadFile(filepath.Join(dir, "schema.json"))
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(b), c.old, c.new, 1)
			if changed == string(b) {
				t.Fatal("nothing was replaced")
			}
			table, err := state.ParseFlussTable("schema.json", []byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			err = read(t.Context(), filepath.Join(dir, buckets[c.bucket], "snap-2"), table)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
		})
	}
}

// TestBucketDamaged: a snapshot of Fluss is refused like any other.
func TestBucketDamaged(t *testing.T) {
	dir, table := unpackBucket(t, "compacted")
	location := filepath.Join(dir, buckets["compacted"], "snap-0")
	meta := filepath.Join(location, "_METADATA")
	whole, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"cut":      {string(whole[:len(whole)/2]), fault.ErrTruncated},
		"version":  {strings.Replace(string(whole), `"version":1`, `"version":9`, 1), fault.ErrUnsupported},
		"climbing": {strings.ReplaceAll(string(whole), "/shared/", "/../shared/"), fault.ErrCorrupt},
		"size":     {strings.ReplaceAll(string(whole), `"size":`, `"size":1`), fault.ErrTruncated},
	} {
		if err := os.WriteFile(meta, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), location, Options{Table: table})
		if err == nil {
			var tables []*Table
			if tables, err = s.Operators()[0].Tables(t.Context()); err == nil {
				_, err = tables[0].Count(t.Context())
			}
			s.Close()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), location, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSchemaFileForFlink: Flink's snapshots want none.
func TestSchemaFileForFlink(t *testing.T) {
	_, table := unpackBucket(t, "compacted")
	location := fixture.One(t, fixture.Unpack(t, fixture.Heap), "checkpoints/*/chk-1")
	if _, err := Open(t.Context(), location, Options{Table: table}); err == nil || !strings.Contains(err.Error(), "schema file") {
		t.Error(err)
	}
}
