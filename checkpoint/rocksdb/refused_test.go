package rocksdb

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

func TestRefusedByName(t *testing.T) {
	for name, words := range map[string][]string{
		"blob":       {".sst", "blob index"},
		"merge":      {".sst", `merge operator "UInt64AddOperator"`, `"StringAppendTESTOperator"`, `comparator "leveldb.BytewiseComparator"`},
		"comparator": {"MANIFEST", `"rocksdb.ReverseBytewiseComparator"`, `"leveldb.BytewiseComparator"`},
	} {
		f := fixtures(t, "refused/"+name)[0]
		_, err := readAll(t, f)
		if !errors.Is(err, fault.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is not in: %v", name, w, err)
			}
		}
	}
}

// counted opens a fixture's files and counts those that are open.
func counted(f *fixture, open *atomic.Int64) Opener {
	return func(ctx context.Context, name string) (storage.File, error) {
		file, err := f.open(ctx, name)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedFile{file, open}, nil
	}
}

type countedFile struct {
	storage.File
	open *atomic.Int64
}

func (c *countedFile) Close() error {
	c.open.Add(-1)
	return c.File.Close()
}

func TestManyReadersShareTables(t *testing.T) {
	f := fixtures(t, "eight-ranges")[0]
	var open atomic.Int64
	db, err := Open(t.Context(), counted(f, &open), Options{KeepOpen: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := f.scan["value"]
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			got, err := rows(t.Context(), db, "value", nil, nil)
			if d := difference(got, want); err != nil || d != "" {
				t.Error(d, err)
			}
			for i := n; i < len(want); i += 8 {
				if v, found, err := db.Get(t.Context(), "value", want[i].key); err != nil || !found || !bytes.Equal(v, want[i].value) {
					t.Error(v, found, err)
				}
			}
		})
	}
	wg.Wait()
	if n := open.Load(); n > 2 {
		t.Errorf("%d files are open while nobody reads, at most 2 may be", n)
	}
	if err := db.Close(); err != nil || open.Load() != 0 {
		t.Errorf("%d files are open after Close, %v", open.Load(), err)
	}
}

// A cursor that is given up half-way, or fails, leaves no file open.
func TestCursorsLeaveNothingOpen(t *testing.T) {
	f := fixtures(t, "eight-ranges")[0]
	var open atomic.Int64
	db, err := Open(t.Context(), counted(f, &open), Options{KeepOpen: -1})
	if err != nil {
		t.Fatal(err)
	}
	for steps := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := db.Cursor(ctx, "value", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range steps {
			c.Next()
		}
		cancel()
		for c.Next() {
		}
		c.Close()
		if n := open.Load(); n != 0 {
			t.Fatalf("%d files are open after %d steps", n, steps)
		}
		if c.Next() {
			t.Fatal("Next after Close")
		}
	}
}
