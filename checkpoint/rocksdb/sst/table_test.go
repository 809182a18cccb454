package sst_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// eachTable opens every table of every fixture.
func eachTable(t *testing.T, do func(fixture, name string, b []byte)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.zip"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, p := range paths {
		fixture := strings.TrimSuffix(filepath.Base(p), ".zip")
		files := unzip(t, fixture)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.HasSuffix(name, ".sst") {
				do(fixture, name, files[name])
			}
		}
	}
}

// TestFixtures pins what the fixtures hold: every format version, checksum, compression, index and filter that is read.
func TestFixtures(t *testing.T) {
	var out bytes.Buffer
	eachTable(t, func(fixture, name string, b []byte) {
		table, err := sst.Open(t.Context(), storage.NewInline(name, b), sst.Options{LargestSeq: 1<<56 - 1})
		if err != nil {
			t.Fatalf("%s %s: %v", fixture, name, err)
		}
		fmt.Fprintf(&out, "%-20s %s %s\n", fixture, name, table.Describe(t.Context()))
	})
	golden := filepath.Join("testdata", "fixtures.golden")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("fixtures are not those of %s; run with -update and look at the difference\n%s", golden, out.Bytes())
	}
}

func TestRefusesByName(t *testing.T) {
	files := unzip(t, "eight-fv5-xxh3")
	var b []byte
	for name, f := range files {
		if strings.HasSuffix(name, ".sst") {
			b = f
		}
	}
	footer := len(b) - 53
	for want, change := range map[string]func(b []byte){
		"format version 8 unsupported":  func(b []byte) { binary.LittleEndian.PutUint32(b[footer+41:], 8) },
		"format version 99 unsupported": func(b []byte) { binary.LittleEndian.PutUint32(b[footer+41:], 99) },
		"checksum type 5 unsupported":   func(b []byte) { b[footer] = 5 },
		"plain and cuckoo tables":       func(b []byte) { binary.LittleEndian.PutUint64(b[footer+45:], 0x8242229663bf9564) },
	} {
		bad := bytes.Clone(b)
		change(bad)
		_, err := sst.Open(t.Context(), storage.NewInline("000001.sst", bad), sst.Options{})
		if !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	for _, bad := range [][]byte{nil, b[:20], b[:len(b)-1], make([]byte, 100)} {
		if _, err := sst.Open(t.Context(), storage.NewInline("000001.sst", bad), sst.Options{}); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

// Seek finds the same entry as walking there does.
func TestSeek(t *testing.T) {
	eachTable(t, func(fixture, name string, b []byte) {
		if fixture == "eight-bench" {
			return
		}
		table, err := sst.Open(t.Context(), storage.NewInline(name, b), sst.Options{LargestSeq: 1<<56 - 1})
		if err != nil {
			t.Fatal(err)
		}
		var walk, seek sst.Iter
		if err := errors.Join(walk.Reset(t.Context(), table, sst.Reading{Ahead: 1 << 16}), seek.Reset(t.Context(), table, sst.Reading{})); err != nil {
			t.Fatal(err)
		}
		var last []byte
		for n := 0; walk.Next(); n++ {
			if bytes.Equal(last, walk.User()) || n%5 != 0 && last != nil {
				last = bytes.Clone(walk.User())
				continue
			}
			last = bytes.Clone(walk.User())
			if !seek.Seek(last) || !bytes.Equal(seek.User(), last) || seek.Trailer() != walk.Trailer() || !bytes.Equal(seek.Value(), walk.Value()) {
				t.Fatalf("%s %s: seek %x stands at %x: %v", fixture, name, last, seek.User(), seek.Err())
			}
		}
		if walk.Err() != nil {
			t.Fatalf("%s %s: %v", fixture, name, walk.Err())
		}
		if seek.Seek(append(last, 0xff)) || seek.Err() != nil {
			t.Fatalf("%s %s: found %x behind the end: %v", fixture, name, seek.User(), seek.Err())
		}
	})
}

// unsealed gives tables of fixtures without checksums, so that damage reaches every decoder.
func unsealed(tb testing.TB, fixtures ...string) (tables [][]byte) {
	for _, fixture := range fixtures {
		files := unzip(tb, fixture)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if b := files[name]; strings.HasSuffix(name, ".sst") && len(b) < 8000 {
				b[len(b)-53] = 0 // checksum type none
				tables = append(tables, b)
			}
		}
	}
	return tables
}

// read opens a table and walks it; it gives errors of no third kind.
func read(b []byte) error {
	ctx := context.Background()
	table, err := sst.Open(ctx, storage.NewInline("damaged", b), sst.Options{LargestSeq: 5})
	if err == nil {
		err = walk(ctx, table)
	}
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported) {
		return nil
	}
	return err
}

func TestDamagedTables(t *testing.T) {
	tables := unsealed(t, "eight-none", "six-fv3-two-level", "eight-first-key", "six-ingest", "six-fv1-zlib", "six-fv1-lz4", "eight-zstd-dict",
		"eight-lz4-dict", "eight-bzip2", "ten-fv7-lz4", "eight-ribbon")
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 4000 {
		b := bytes.Clone(tables[n%len(tables)])
		for range 1 + rnd.IntN(6) {
			at := rnd.IntN(len(b))
			if rnd.IntN(2) == 0 { // where footer, metaindex, properties and index are
				at = len(b) - 1 - rnd.IntN(min(len(b), 1500))
			}
			b[at] = byte(rnd.IntN(256))
		}
		if err := read(b); err != nil {
			t.Fatalf("damage %d: %v", n, err)
		}
	}
}

// FuzzTable reads whole tables.
func FuzzTable(f *testing.F) {
	for _, b := range unsealed(f, "eight-none", "six-fv3-two-level", "eight-first-key", "six-ingest") {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := read(b); err != nil {
			t.Fatal(err)
		}
	})
}

func walk(ctx context.Context, table *sst.Table) error {
	var i sst.Iter
	if err := i.Reset(ctx, table, sst.Reading{Ahead: 4 << 10}); err != nil {
		return err
	}
	for n := 0; n < 1000 && i.Next(); n++ {
		if _, err := table.MayContain(ctx, i.User(), nil); err != nil {
			return err
		}
	}
	if i.Err() == nil {
		i.Seek([]byte("user"))
	}
	return i.Err()
}
