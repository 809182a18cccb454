package sst_test

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// unzip gives the files of a fixture of the package above.
func unzip(tb testing.TB, name string) map[string][]byte {
	tb.Helper()
	z, err := zip.OpenReader(filepath.Join("..", "testdata", name+".zip"))
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, e := range z.File {
		r, err := e.Open()
		if err != nil {
			tb.Fatal(err)
		}
		if files[e.Name], err = io.ReadAll(r); err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

// BenchmarkScan compares three ways through the same table. MB/s counts keys and values: cursor should reach 60 % of blocks.
func BenchmarkScan(b *testing.B) {
	ctx, dir := b.Context(), b.TempDir()
	for name, f := range unzip(b, "eight-bench") {
		if err := os.WriteFile(filepath.Join(dir, name), f, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	open := func(ctx context.Context, name string) (storage.File, error) {
		return storage.Local().Open(ctx, filepath.Join(dir, name))
	}
	db, err := rocksdb.Open(ctx, open, rocksdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	family, _ := db.Family("value")
	f, err := open(ctx, family.Files[0].Name())
	if err != nil {
		b.Fatal(err)
	}
	table, err := sst.Open(ctx, f, sst.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer table.Close()
	size := int64(table.Properties().RawKeySize + table.Properties().RawValueSize)

	b.Run("blocks", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if err := table.ForEachBlock(ctx, 256<<10, func([]byte) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("iter", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		var i sst.Iter
		for b.Loop() {
			if err := i.Reset(ctx, table, sst.Reading{Ahead: 256 << 10}); err != nil {
				b.Fatal(err)
			}
			for i.Next() {
			}
		}
	})
	b.Run("cursor", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			c, err := db.Cursor(ctx, "value", nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			for c.Next() {
			}
			if c.Err() != nil {
				b.Fatal(c.Err())
			}
			c.Close()
		}
	})
}
