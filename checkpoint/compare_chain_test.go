package checkpoint

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/state"
)

// chained is a checkpoint of a chain that RocksDB wrote: see rocksdb/testdata/README.md.
type chained struct {
	name string
	db   *database
	scan map[string][][2]string // rows by family, as RocksDB itself gave them

	delay       time.Duration // of each read
	broken      error         // what reading gives once left is used up
	left        atomic.Int64
	reads, most atomic.Int64 // under way, and how many at most
}

// unpacked reads the chains' archive.
var unpacked = sync.OnceValues(func() (*zip.Reader, error) {
	packed, err := os.Open("rocksdb/testdata/chains/chains.zip.gz")
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(plain)
	if err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(b), int64(len(b)))
})

// oneChain opens the checkpoints of one chain, whose files are near.
func oneChain(t testing.TB, name string) []*chained {
	t.Helper()
	return chainOver(t, name, nil, false)
}

// chainOver opens the checkpoints of one chain, whose files lie behind a link; early sends for the ends of their tables at once.
func chainOver(t testing.TB, name string, link *fetch.Link, early bool) []*chained {
	t.Helper()
	z, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	var out []*chained
	for i := 0; ; i++ {
		dir := fmt.Sprintf("%s/%d", name, i)
		if _, err := fs.Stat(z, dir); err != nil {
			break
		}
		out = append(out, openChained(t, z, dir, link, early))
	}
	if len(out) < 2 {
		t.Fatalf("chain %s has %d checkpoints", name, len(out))
	}
	return out
}

// chains opens the checkpoints of all chains, each behind a link of its own.
func chains(t testing.TB, link func() *fetch.Link) map[string][]*chained {
	t.Helper()
	z, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(z, "[0-9]*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	out := map[string][]*chained{}
	for _, name := range names {
		out[name] = chainOver(t, name, link(), true)
	}
	return out
}

func openChained(t testing.TB, z fs.FS, dir string, link *fetch.Link, early bool) *chained {
	t.Helper()
	c := &chained{name: dir, scan: map[string][][2]string{}, db: &database{files: files{}}}
	for line := range lines(t, z, dir+"/tables.txt") {
		name, id, _ := strings.Cut(line, " ")
		c.db.files[name] = &flink.StreamHandle{Kind: flink.AbsoluteFile, Path: "file:/tables/" + id}
	}
	for line := range lines(t, z, dir+"/scan.txt") {
		w := strings.Split(line, " ")
		key, errKey := hex.DecodeString(w[1])
		value, errValue := hex.DecodeString(w[2])
		if errKey != nil || errValue != nil {
			t.Fatal(line)
		}
		c.scan[w[0]] = append(c.scan[w[0]], [2]string{string(key), string(value)})
	}
	var err error
	o := rocksdb.Options{Link: link}
	if early {
		o.Early = slices.DeleteFunc(slices.Sorted(maps.Keys(c.db.files)), func(name string) bool { return !isTable(name) })
	}
	c.db.db, err = rocksdb.Open(t.Context(), func(_ context.Context, name string) (storage.File, error) {
		at := dir + "/" + name
		if h := c.db.files[name]; h != nil {
			at = strings.TrimPrefix(h.Path, "file:/")
		}
		b, err := fs.ReadFile(z, at)
		return link.File(slow{storage.NewInline(at, b), c}), err
	}, o)
	if err != nil {
		t.Fatal(dir, err)
	}
	t.Cleanup(func() { c.db.close() })
	return c
}

// slow is a file that can be made to answer late.
type slow struct {
	storage.File
	c *chained
}

func (f slow) ReadAt(ctx context.Context, p []byte, off int64) error {
	n := f.c.reads.Add(1)
	defer f.c.reads.Add(-1)
	for m := f.c.most.Load(); n > m && !f.c.most.CompareAndSwap(m, n); {
		m = f.c.most.Load()
	}
	time.Sleep(f.c.delay)
	if f.c.broken != nil && f.c.left.Add(-1) < 0 {
		return f.c.broken
	}
	return f.File.ReadAt(ctx, p, off)
}

func lines(t testing.TB, z fs.FS, name string) func(func(string) bool) {
	b, err := fs.ReadFile(z, name)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(b)) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// table makes a table of a family, spread over subtasks that begin at the given key groups; the last one to end. Its values are compared as bytes.
func (c *chained) table(family string, kind state.Kind, starts ...int) *Table {
	s := &state.Schema{Name: family, Kind: kind, MaxParallelism: 128}
	t := &Table{Name: family, Kind: kind, maxParallelism: 128}
	for i, first := range starts {
		last := 127
		if i+1 < len(starts) {
			last = starts[i+1] - 1
		}
		t.parts = append(t.parts, part{groups: KeyGroups{first, last}, schema: s, source: c.db})
	}
	return t
}

// rows are a table's rows of some key groups, as RocksDB itself gave them.
func (c *chained) rows(t *Table, g KeyGroups) map[string]string {
	out := map[string]string{}
	for _, row := range c.scan[t.Name] {
		group := int(row[0][0])
		if group >= max(g.First, t.parts[0].groups.First) && group <= g.Last && (t.Kind != state.KindList || row[1] != "") {
			out[row[0]] = row[1]
		}
	}
	return out
}
