package rocksdb

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// fixture is a database written by RocksDB, in memory, with the scan that RocksDB gave of it. testdata/README.md says how it was made.
type fixture struct {
	name  string
	files map[string][]byte
	scan  map[string][]row // by family
}

type row struct{ key, value []byte }

// fixtures opens all of testdata whose names match the pattern.
func fixtures(tb testing.TB, pattern string) []*fixture {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern+".zip"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no fixture %s: %v", pattern, err)
	}
	var out []*fixture
	for _, p := range paths {
		f, err := readFixture(p)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func readFixture(path string) (*fixture, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	f := &fixture{name: strings.TrimSuffix(filepath.Base(path), ".zip"), files: map[string][]byte{}}
	for _, e := range z.File {
		r, err := e.Open()
		if err != nil {
			return nil, err
		}
		if f.files[e.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	f.scan, err = parseScan(string(f.files["scan.txt"]))
	delete(f.files, "scan.txt")
	return f, err
}

// parseScan reads lines of a family's name, a key and a value, both in hex.
func parseScan(text string) (map[string][]row, error) {
	scan := map[string][]row{}
	for line := range strings.Lines(text) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(w) != 3 {
			return nil, fmt.Errorf("scan line %q", line)
		}
		k, err := hex.DecodeString(w[1])
		if err != nil {
			return nil, err
		}
		v, err := hex.DecodeString(w[2])
		if err != nil {
			return nil, err
		}
		scan[w[0]] = append(scan[w[0]], row{k, v})
	}
	return scan, nil
}

func (f *fixture) open(_ context.Context, name string) (storage.File, error) {
	b, ok := f.files[name]
	if !ok {
		return nil, fmt.Errorf("%s/%s: %w", f.name, name, fs.ErrNotExist)
	}
	return &memFile{name: f.name + "/" + name, b: b}, nil
}

// with gives a copy of f in which one file is another.
func (f *fixture) with(name string, b []byte) *fixture {
	c := *f
	c.files = map[string][]byte{}
	for n, old := range f.files {
		c.files[n] = old
	}
	c.files[name] = b
	return &c
}

func (f *fixture) db(tb testing.TB, o Options) *DB {
	tb.Helper()
	db, err := Open(tb.Context(), f.open, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

type memFile struct {
	name string
	b    []byte
	hook func(p []byte, off int64) // sees what was read, and may damage it
}

func (m *memFile) Size() int64  { return int64(len(m.b)) }
func (m *memFile) Name() string { return m.name }
func (m *memFile) Close() error { return nil }

func (m *memFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if off < 0 || off+int64(len(p)) > int64(len(m.b)) {
		return &fault.CorruptError{File: m.name, Offset: off, Reason: "read beyond the end", Truncated: true}
	}
	copy(p, m.b[off:])
	if m.hook != nil {
		m.hook(p, off)
	}
	return nil
}

// rows scans a family.
func rows(ctx context.Context, db *DB, family string, lower, upper []byte) ([]row, error) {
	c, err := db.Cursor(ctx, family, lower, upper)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []row
	for c.Next() {
		out = append(out, row{bytes.Clone(c.Key()), bytes.Clone(c.Value())})
	}
	return out, c.Err()
}

// difference tells in a line how got is not want, or nothing.
func difference(got, want []row) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("row %d missing: %x", i, want[i].key)
		case i >= len(want):
			return fmt.Sprintf("row %d too many: %x", i, got[i].key)
		case !bytes.Equal(got[i].key, want[i].key):
			return fmt.Sprintf("row %d has key %x, want %x", i, got[i].key, want[i].key)
		case !bytes.Equal(got[i].value, want[i].value):
			return fmt.Sprintf("row %d, key %x: value %x, want %x", i, got[i].key, got[i].value, want[i].value)
		}
	}
	return ""
}
