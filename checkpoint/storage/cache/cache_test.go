package cache

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// far is a store of one file, which counts what is asked.
type far struct {
	storage.Store
	content         []byte
	version         string
	reads, resolves atomic.Int64
}

func (f *far) Latency(string) time.Duration { return time.Millisecond }

func (f *far) Open(ctx context.Context, uri string) (storage.File, error) {
	return f.OpenSized(ctx, uri, int64(len(f.content)))
}

func (f *far) OpenSized(_ context.Context, uri string, _ int64) (storage.File, error) {
	return &farFile{storage.NewInline(uri, f.content), f, ""}, nil
}

func (f *far) ReadFile(context.Context, string, int64) ([]byte, error) { return f.content, nil }

type farFile struct {
	*storage.Inline
	far     *far
	version string
}

func (f *farFile) Version() string { return f.version }

func (f *farFile) Resolve(context.Context) (string, error) {
	if f.version == "" {
		f.far.resolves.Add(1)
		f.version = f.far.version
	}
	return f.version, nil
}

func (f *farFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	f.far.reads.Add(1)
	f.version = f.far.version
	return f.Inline.ReadAt(ctx, p, off)
}

// expect reads a range through a cache opened anew, as another process would, and wants its bytes and so many requests.
func expect(t *testing.T, dir string, f *far, off, n int, reads int64) {
	t.Helper()
	f.reads.Store(0)
	file, err := New(dir, 1<<20, f).OpenSized(t.Context(), "s3://b/k", int64(len(f.content)))
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, n)
	if err := file.ReadAt(t.Context(), p, int64(off)); err != nil || !bytes.Equal(p, f.content[off:off+n]) || f.reads.Load() != reads {
		t.Errorf("%d bytes at %d: equal %t, %d requests, want %d: %v", n, off, bytes.Equal(p, f.content[off:off+n]), f.reads.Load(), reads, err)
	}
}

func sample() *far {
	b := make([]byte, 200_000)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return &far{content: b, version: "one"}
}

func TestHeld(t *testing.T) {
	dir, f := filepath.Join(t.TempDir(), "cache"), sample()
	expect(t, dir, f, 1000, 100_000, 1)
	if f.resolves.Load() != 0 {
		t.Error("a cache without anything asks for versions")
	}
	expect(t, dir, f, 1000, 100_000, 0)
	expect(t, dir, f, 50_000, 1, 0)
	expect(t, dir, f, 17_384, 40_000, 0)
	expect(t, dir, f, 100_999, 2, 1) // one byte more than is held
	f.version, f.content = "two", append([]byte("other"), f.content[5:]...)
	expect(t, dir, f, 1000, 100_000, 1)
	expect(t, dir, f, 1000, 100_000, 0)
}

func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, string){
		"deleted": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"a byte": func(t *testing.T, dir string) {
			change(t, dir, func(b []byte) []byte { b[len(b)-70_000] ^= 1; return b })
		},
		"a checksum": func(t *testing.T, dir string) { change(t, dir, func(b []byte) []byte { b[20] ^= 1; return b }) },
		"cut":        func(t *testing.T, dir string) { change(t, dir, func(b []byte) []byte { return b[:len(b)/2] }) },
		"empty":      func(t *testing.T, dir string) { change(t, dir, func([]byte) []byte { return nil }) },
		"another's": func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
			must(t, err)
			s := parse(filepath.Base(files[0]))
			s.off++
			must(t, os.Rename(files[0], filepath.Join(filepath.Dir(files[0]), s.name())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := filepath.Join(t.TempDir(), "cache"), sample()
			expect(t, dir, f, 0, 100_000, 1)
			damage(t, dir)
			expect(t, dir, f, 1, 99_999, 1)
			expect(t, dir, f, 1, 99_999, 0)
		})
	}
}

func change(t *testing.T, dir string, do func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	must(t, err)
	must(t, os.WriteFile(files[0], do(b), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLimit: however much is read, the limit holds, and what was used last stays.
func TestLimit(t *testing.T) {
	dir, f := filepath.Join(t.TempDir(), "cache"), sample()
	store := New(dir, 100_000, f)
	file, err := store.OpenSized(t.Context(), "s3://b/k", int64(len(f.content)))
	must(t, err)
	for off := 0; off < len(f.content); off += 10_000 {
		must(t, file.ReadAt(t.Context(), make([]byte, 10_000), int64(off)))
		time.Sleep(2 * time.Millisecond) // so that times differ
	}
	must(t, file.ReadAt(t.Context(), make([]byte, 50_000), 0)) // too large a part
	var size int64
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	must(t, err)
	for _, name := range files {
		fi, err := os.Stat(name)
		must(t, err)
		size += fi.Size()
	}
	if size > 100_000 || size < 50_000 {
		t.Errorf("%d bytes are held of 100000", size)
	}
	f.reads.Store(0)
	must(t, file.ReadAt(t.Context(), make([]byte, 10_000), 190_000))
	if f.reads.Load() != 0 {
		t.Error("what was used last is gone")
	}
}

// TestDeletedMeanwhile: several processes share a directory that someone deletes and damages again and again, and all read the right bytes.
func TestDeletedMeanwhile(t *testing.T) {
	dir, f := filepath.Join(t.TempDir(), "cache"), sample()
	ctx, cancel := context.WithCancel(t.Context())
	var spoiler, readers sync.WaitGroup
	spoiler.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if n%2 == 0 {
				_ = os.RemoveAll(dir) // a reader may be writing there
				continue
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
			for _, name := range files {
				_ = os.Truncate(name, 5000)
			}
		}
	})
	for process := range 4 {
		store := New(dir, 300_000, f)
		readers.Go(func() {
			for n := range 200 {
				file, err := store.OpenSized(ctx, "s3://b/k", int64(len(f.content)))
				if err != nil {
					t.Error(err)
					return
				}
				off := (n*7919 + process) % 150_000
				p := make([]byte, 50_000)
				if err := file.ReadAt(ctx, p, int64(off)); err != nil || !bytes.Equal(p, f.content[off:][:len(p)]) {
					t.Errorf("process %d: %d bytes at %d are not those of the file: %v", process, len(p), off, err)
				}
			}
		})
	}
	readers.Wait()
	cancel()
	spoiler.Wait()
}
