package rocksdb

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// readAll scans every family, or fails.
func readAll(tb testing.TB, f *fixture) (map[string][]row, error) {
	db, err := Open(tb.Context(), f.open, Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	out := map[string][]row{}
	for _, fam := range db.Families() {
		if out[fam.Name], err = rows(tb.Context(), db, fam.Name, nil, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// same tells whether a scan gave what RocksDB gave.
func (f *fixture) same(got map[string][]row) string {
	for family, list := range got {
		if d := difference(list, f.scan[family]); d != "" {
			return family + ": " + d
		}
	}
	return ""
}

func wellKnown(err error) bool {
	return errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fs.ErrNotExist)
}

// A damaged file gives an error or, where the damage is to bytes that nobody needs, the same rows: never others.
func TestFlippedBits(t *testing.T) {
	for _, f := range fixtures(t, "*") {
		if f.name == "eight-none" || f.name == "eight-bench" { // without checksums nobody can tell; too large
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			noticed := 0
			for _, name := range slices.Sorted(maps.Keys(f.files)) {
				b := f.files[name]
				for off := len(name) % 7; off < len(b); off += 1 + len(b)/24 {
					bad := bytes.Clone(b)
					bad[off] ^= 1 << (off % 8)
					got, err := readAll(t, f.with(name, bad))
					if err == nil {
						if d := f.same(got); d != "" {
							t.Fatalf("%s: bit at %d flipped unnoticed: %s", name, off, d)
						}
						continue
					}
					noticed++
					if !wellKnown(err) {
						t.Fatalf("%s: bit at %d: %v", name, off, err)
					}
				}
			}
			if noticed == 0 {
				t.Error("no flip was ever noticed")
			}
		})
	}
}

// A file cut short is refused wherever it is cut. Of the MANIFEST a whole record may be missing: no reader can see that.
func TestCuts(t *testing.T) {
	for _, f := range fixtures(t, "*-fv*") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for name, b := range f.files {
				for i := range 16 {
					cut := len(b) * i / 16
					_, err := readAll(t, f.with(name, b[:cut]))
					if err == nil && !strings.HasPrefix(name, "MANIFEST") && name != "IDENTITY" {
						t.Fatalf("%s cut at %d of %d unnoticed", name, cut, len(b))
					}
					if err != nil && !wellKnown(err) {
						t.Fatalf("%s cut at %d: %v", name, cut, err)
					}
				}
			}
		})
	}
}

func TestMissingTable(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	for name := range f.files {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		less := f.with(name, nil)
		delete(less.files, name)
		_, err := readAll(t, less)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestSwappedTables(t *testing.T) {
	f := fixtures(t, "eight-ranges")[0]
	var names []string
	for name := range f.files {
		if strings.HasSuffix(name, ".sst") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		other := names[(i+1)%len(names)]
		if got, err := readAll(t, f.with(name, f.files[other])); err == nil {
			t.Errorf("%s in place of %s unnoticed: %v", other, name, f.same(got))
		}
	}
}

func TestCurrentCutByAByte(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	b := f.files["CURRENT"]
	for _, bad := range [][]byte{b[:len(b)-1], {}, []byte("MANIFEST-x\n"), []byte("../MANIFEST-1\n")} {
		_, err := readAll(t, f.with("CURRENT", bad))
		if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "CURRENT") {
			t.Errorf("CURRENT %q: %v", bad, err)
		}
	}
}

// flaky opens a fixture's tables so that a byte of the first data block arrives damaged: once in all, or always.
func flaky(f *fixture, always bool) Opener {
	var done atomic.Bool
	return func(ctx context.Context, name string) (storage.File, error) {
		file, err := f.open(ctx, name)
		if err != nil || !strings.HasSuffix(name, ".sst") {
			return file, err
		}
		file.(*memFile).hook = func(p []byte, off int64) {
			const at = 20
			data := off <= at && off+int64(len(p)) > at && off+int64(len(p)) < file.Size() // not the file's end, read on opening
			if data && (!done.Swap(true) || always) {
				p[at-off] ^= 4
			}
		}
		return file, nil
	}
}

func TestRereadsOnChecksumMismatch(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	db, err := Open(t.Context(), flaky(f, false), Options{ReadAhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := rows(t.Context(), db, "value", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(got, f.scan["value"]); d != "" {
		t.Error(d)
	}
	if n := db.Stats().Rereads; n != 1 {
		t.Errorf("%d blocks read again, want 1", n)
	}
}

func TestLastingMismatchNamesFileAndOffset(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	db, err := Open(t.Context(), flaky(f, true), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = rows(t.Context(), db, "value", nil, nil)
	var corrupt *fault.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Offset != 0 || !strings.HasSuffix(corrupt.File, ".sst") {
		t.Errorf("err = %v", err)
	}
	if n := db.Stats().Rereads; n != 1 {
		t.Errorf("%d blocks read again, want 1", n)
	}
}

func TestCancelledContext(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	db := f.db(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := db.Cursor(ctx, "value", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if c.Next() || !errors.Is(c.Err(), context.Canceled) {
		t.Errorf("Err = %v", c.Err())
	}
	if _, _, err := db.Get(ctx, "value", f.scan["value"][0].key); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: %v", err)
	}
	if _, found, err := db.Get(t.Context(), "value", f.scan["value"][0].key); err != nil || !found {
		t.Errorf("Get after another's cancelled one: %v, %v", found, err)
	}
}
