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
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/state"
)

// chained is a checkpoint of a chain that RocksDB wrote: see rocksdb/testdata/README.md.
type chained struct {
	name string
	db   *database
	scan map[string][][2]string // rows by family, as RocksDB itself gave them

	delay       time.Duration // of each read
	reads, most atomic.Int64  // under way, and how many at most
}

// chains reads the checkpoints of each chain.
func chains(t testing.TB) map[string][]*chained {
	t.Helper()
	packed, err := os.Open("rocksdb/testdata/chains/chains.zip.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]*chained{}
	dirs, err := fs.Glob(z, "*/*/CURRENT")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	slices.Sort(dirs)
	for _, d := range dirs {
		dir := strings.TrimSuffix(d, "/CURRENT")
		chain, _, _ := strings.Cut(dir, "/")
		out[chain] = append(out[chain], openChained(t, z, dir))
	}
	return out
}

func openChained(t testing.TB, z fs.FS, dir string) *chained {
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
	c.db.db, err = rocksdb.Open(t.Context(), func(_ context.Context, name string) (storage.File, error) {
		at := dir + "/" + name
		if h := c.db.files[name]; h != nil {
			at = strings.TrimPrefix(h.Path, "file:/")
		}
		b, err := fs.ReadFile(z, at)
		return slow{storage.NewInline(at, b), c}, err
	}, rocksdb.Options{})
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

// described says what changed from one state to another, a line a key, sorted.
func described(a, b map[string]string) []string {
	var out []string
	for k, v := range a {
		if w, ok := b[k]; !ok {
			out = append(out, fmt.Sprintf("%x: %x gone", k, v))
		} else if w != v {
			out = append(out, fmt.Sprintf("%x: %x now %x", k, v, w))
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			out = append(out, fmt.Sprintf("%x: new %x", k, w))
		}
	}
	slices.Sort(out)
	return out
}

// compared gives the same of what Compare finds, and says in how many stretches files were left unread.
func compared(t *testing.T, base, next *Table, g KeyGroups, m Method) (out []string, byFile int) {
	t.Helper()
	for _, s := range next.Compare(base, g, m) {
		if s.Method == ByFile {
			byFile++
			out = append(out, differences(t, &s)...)
			continue
		}
		out = append(out, described(read(t, base, s.Groups), read(t, next, s.Groups))...)
	}
	slices.Sort(out)
	return out, byFile
}

func differences(t *testing.T, s *Stretch) (out []string) {
	t.Helper()
	d, _, err := s.Differences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	last := []byte(nil)
	for d.Next() {
		if last != nil && bytes.Compare(last, d.Key()) >= 0 {
			t.Fatalf("%x comes behind %x", d.Key(), last)
		}
		last = append(last[:0], d.Key()...)
		before, after := d.Before(), d.After()
		switch {
		case after == nil:
			out = append(out, fmt.Sprintf("%x: %x gone", before.Key(), before.Value()))
		case before == nil:
			out = append(out, fmt.Sprintf("%x: new %x", after.Key(), after.Value()))
		default:
			out = append(out, fmt.Sprintf("%x: %x now %x", before.Key(), before.Value(), after.Value()))
		}
	}
	if d.Err() != nil {
		t.Fatal(d.Err())
	}
	return out
}

func read(t *testing.T, table *Table, g KeyGroups) map[string]string {
	t.Helper()
	c, err := table.Cursor(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := map[string]string{}
	for c.Next() {
		out[string(c.Key())] = string(c.Value())
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return out
}

// TestCompareLaw: for every two checkpoints of a chain, in both directions, any key groups, and however they are spread over
// subtasks, what the differing files show is what both whole tables show, and what RocksDB itself read.
func TestCompareLaw(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	families := map[string]state.Kind{"value": state.KindValue, "list": state.KindList, "single": state.KindValue}
	changes, skipped := 0, 0
	for name, chain := range chains(t) {
		for _, a := range chain {
			for _, b := range chain {
				for family, kind := range families {
					base, next := a.table(family, kind, subtasks(random)...), b.table(family, kind, subtasks(random)...)
					cut := random.IntN(100)
					for _, g := range []KeyGroups{AllKeyGroups(128), {cut, cut + random.IntN(27)}} {
						want := described(a.rows(base, g), b.rows(next, g))
						for _, m := range []Method{Merge, ByFile, Auto} {
							got, n := compared(t, base, next, g, m)
							if d := firstDifference(got, want); d != "" {
								t.Fatalf("chain %s, %s to %s, family %s, key groups %s, %s: %s", name, a.name, b.name, family, g, m, d)
							}
							changes, skipped = changes+len(want), skipped+n
						}
					}
				}
			}
		}
	}
	if changes < 10000 || skipped < 1000 {
		t.Errorf("%d changes, %d stretches by file: too few to show anything", changes, skipped)
	}
}

// subtasks gives the first key groups of some: mostly of one that has all.
func subtasks(random *rand.Rand) []int {
	switch random.IntN(4) {
	case 0:
		return []int{0, 1 + random.IntN(60), 64 + random.IntN(60)}
	case 1:
		return []int{random.IntN(50), 60}
	}
	return []int{0}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing " + want[i]
		case i >= len(want):
			return "too many " + got[i]
		case got[i] != want[i]:
			return got[i] + ", want " + want[i]
		}
	}
	return ""
}

// TestCompareCostFollowsChange: of large files that both checkpoints have, blocks are read one by one, and only for keys in question.
func TestCompareCostFollowsChange(t *testing.T) {
	const perKey, perFile = 4<<10 + 512, 16 << 10 // a block; the end of a file and its index
	large := chains(t)["9020"]
	for i, wantChanges := range []int{21, 1000} {
		base, next := large[i], large[i+1]
		stretches := next.table("value", state.KindValue, 0).Compare(base.table("value", state.KindValue, 0), AllKeyGroups(128), ByFile)
		if len(stretches) != 1 || stretches[0].Method != ByFile {
			t.Fatalf("planned %+v", stretches)
		}
		s := &stretches[0]
		before := s.Reading()
		changes := len(differences(t, s))
		read := s.Reading().Minus(before).ReadBytes
		files := int64(s.Common.Files + s.OnlyBase.Files + s.OnlyNext.Files)
		limit := s.OnlyBase.Bytes + s.OnlyNext.Bytes + int64(changes)*perKey + files*perFile
		if s.Common.Bytes < 250<<10 || s.Common.Files < 3 {
			t.Fatalf("too little in common to show anything: %s", s.Common)
		}
		if changes != wantChanges || read > limit || read > s.MergeBytes {
			t.Errorf("%d changes of %d: read %d bytes, at most %d expected; in both %s, only base %s, only next %s; a merge would read %d",
				changes, wantChanges, read, limit, s.Common, s.OnlyBase, s.OnlyNext, s.MergeBytes)
		}
	}
}

// TestCompareAsksSideBySide: storage that answers late is asked for many blocks at once.
func TestCompareAsksSideBySide(t *testing.T) {
	large := chains(t)["9020"]
	base, next := large[1], large[2]
	next.delay = time.Millisecond
	s := next.table("value", state.KindValue, 0).Compare(base.table("value", state.KindValue, 0), AllKeyGroups(128), ByFile)[0]
	if n := len(differences(t, &s)); n != 1000 || next.most.Load() < 4 {
		t.Errorf("%d changes, at most %d reads at a time", n, next.most.Load())
	}
}

// TestCompareChoosesWhatReadsLess: few changes by file, many by merge.
func TestCompareChoosesWhatReadsLess(t *testing.T) {
	large := chains(t)["9020"]
	for i, want := range []Method{ByFile, Merge} {
		for _, s := range large[i+1].table("value", state.KindValue, 0).Compare(large[i].table("value", state.KindValue, 0), AllKeyGroups(128), Auto) {
			if s.Method != want {
				t.Errorf("%s, %s: in both %s, only base %s, only next %s; lsm %d, merge %d", s.Method, s.Why, s.Common, s.OnlyBase, s.OnlyNext, s.ByFileBytes, s.MergeBytes)
			}
		}
	}
}

// TestPlace: one file is known under each way to write its address, and never taken for another.
func TestPlace(t *testing.T) {
	handles := map[string]*flink.StreamHandle{
		"plain":     {Kind: flink.AbsoluteFile, Path: "/chk/sp-1/u"},
		"file":      {Kind: flink.AbsoluteFile, Path: "file:/chk/sp-1/u"},
		"slashes":   {Kind: flink.AbsoluteFile, Path: "file:///chk/sp-1/u"},
		"relative":  {Kind: flink.RelativeFile, Path: "u"},
		"other":     {Kind: flink.AbsoluteFile, Path: "/chk/sp-1/v"},
		"remote":    {Kind: flink.AbsoluteFile, Path: "s3://chk/sp-1/u"},
		"segment":   {Kind: flink.Segment, Path: "/chk/sp-1/u", Offset: 0, Size: 9},
		"segment 2": {Kind: flink.Segment, Path: "/chk/sp-1/u", Offset: 9, Size: 9},
		"bytes":     {Kind: flink.Bytes, Path: "/chk/sp-1/u", Inline: []byte("x")},
		"bytes 2":   {Kind: flink.Bytes, Path: "/chk/sp-1/u", Inline: []byte("y")},
	}
	same := []string{"plain", "file", "slashes", "relative"}
	for a := range handles {
		for b := range handles {
			want := a == b || slices.Contains(same, a) && slices.Contains(same, b)
			if got := files(handles).place(a, "file:/chk/sp-1") == files(handles).place(b, "file:/chk/sp-1"); got != want {
				t.Errorf("%s and %s are one file: %t", a, b, got)
			}
		}
	}
	handles["empty"] = &flink.StreamHandle{Kind: flink.EmptySegment}
	for _, name := range []string{"empty", "unknown"} {
		if at := files(handles).place(name, "/chk/sp-1"); at != "" {
			t.Errorf("%s is at %q", name, at)
		}
	}
}
