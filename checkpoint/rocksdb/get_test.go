package rocksdb

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// A look-up that finds its value in the newest table reads one data block; what a filter turns away reads none.
func TestGetReadsOneBlock(t *testing.T) {
	f := fixtures(t, "eight-fv5-xxh3")[0]
	db := f.db(t, Options{})
	fam, _ := db.Family("value")
	newest := fam.Files[0]
	keys := newestValues(t, db, newest)
	for range 2 { // the first round loads index and filter
		for _, key := range keys {
			before := db.Stats()
			if _, found, err := db.Get(t.Context(), "value", key); err != nil || !found {
				t.Fatal(found, err)
			}
			if n := db.Stats().Blocks - before.Blocks; n > 3 {
				t.Fatalf("%x took %d blocks", key, n)
			}
		}
	}
	before := db.Stats()
	for _, key := range keys {
		if _, _, err := db.Get(t.Context(), "value", key); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := db.Stats().Blocks-before.Blocks, int64(len(keys)); got != want {
		t.Errorf("%d look-ups took %d blocks", want, got)
	}
}

// newestValues gives the keys whose newest entry is a value in the given table.
func newestValues(t *testing.T, db *DB, m FileMeta) (keys [][]byte) {
	c, err := db.InternalCursor(t.Context(), []FileMeta{m}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for c.Next() {
		if c.Kind() == ikey.Value && (len(keys) == 0 || !bytes.Equal(keys[len(keys)-1], c.Key())) {
			keys = append(keys, bytes.Clone(c.Key()))
		}
	}
	if c.Err() != nil || len(keys) == 0 {
		t.Fatal(len(keys), c.Err())
	}
	return keys
}

func TestFiltersTurnAbsentKeysAway(t *testing.T) {
	for _, name := range []string{"six-fv2", "six-fv3-two-level", "six-fv4-restart16", "six-fv5", "eight-fv5-xxh3", "eight-two-level",
		"eight-ribbon", "eight-fv6", "ten-fv7", "ten-fv7-lz4", "ten-fv6", "eight-ingest", "six-lengths", "eight-lengths", "eight-lengths-ribbon"} {
		f := fixtures(t, name)[0]
		db := f.db(t, Options{})
		for _, fam := range db.Families() {
			for _, m := range fam.Files {
				checkFilter(t, db, m, name)
			}
		}
	}
}

// checkFilter asks a table's filter for all its keys, and for as many that it does not have.
func checkFilter(t *testing.T, db *DB, m FileMeta, name string) {
	r, err := db.tables.acquire(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	defer db.tables.release(r)
	c, err := db.InternalCursor(t.Context(), []FileMeta{m}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n, wrong := 0, 0
	for c.Next() {
		if may, err := r.table.MayContain(t.Context(), c.Key(), nil); err != nil || !may {
			t.Fatalf("%s %s: filter denies key %x: %v", name, m.Name(), c.Key(), err)
		}
		n++
		absent := append(bytes.Clone(c.Key()), '?')
		if may, err := r.table.MayContain(t.Context(), absent, nil); err != nil {
			t.Fatal(err)
		} else if may {
			wrong++
		}
	}
	if n > 40 && wrong > n/8 {
		t.Errorf("%s %s: filter lets %d of %d absent keys pass", name, m.Name(), wrong, n)
	}
}

// model folds all entries of a family by the definition, one key at a time.
func model(t *testing.T, db *DB, files []FileMeta) []row {
	tombs, err := db.Tombstones(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.InternalCursor(t.Context(), files, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	histories := map[string]*History{}
	for c.Next() {
		h := histories[string(c.Key())]
		if h == nil {
			h = &History{}
			for _, s := range tombs {
				if bytes.Compare(s.Start, c.Key()) <= 0 && bytes.Compare(c.Key(), s.End) < 0 {
					h.Tombstone = max(h.Tombstone, s.Seq)
				}
			}
			histories[string(c.Key())] = h
		}
		h.Entries = append(h.Entries, Entry{c.Seq(), c.Kind(), bytes.Clone(c.Value())})
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	var out []row
	for k, h := range histories {
		if v, found := h.Resolve(); found {
			out = append(out, row{[]byte(k), v})
		}
	}
	slices.SortFunc(out, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	return out
}

// Any subset of tables gives the same rows three ways: folded from all entries, by look-up, and as Lookup says key by key.
func TestSubsetsOfTables(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, f := range fixtures(t, "*") {
		db := f.db(t, Options{})
		for _, fam := range db.Families() {
			if d := difference(model(t, db, fam.Files), f.scan[fam.Name]); d != "" {
				t.Errorf("%s %s: %s", f.name, fam.Name, d)
			}
			var some []FileMeta
			for _, m := range fam.Files {
				if rnd.IntN(2) == 0 {
					some = append(some, m)
				}
			}
			for _, r := range model(t, db, some) {
				h, err := db.Lookup(t.Context(), some, r.key)
				if err != nil {
					t.Fatal(err)
				}
				if v, found := h.Resolve(); !found || !bytes.Equal(v, r.value) {
					t.Errorf("%s %s: %x = %x, %v, want %x", f.name, fam.Name, r.key, v, found, r.value)
				}
			}
		}
	}
}

// A Finder asked for many ascending keys at once gives what Lookup gives for each, and reads hardly more blocks than there are: some
// are wanted once for the keys that newer tables leave open.
func TestFinder(t *testing.T) {
	for _, name := range []string{"eight-fv5-xxh3", "eight-two-level", "eight-ranges", "eight-none", "six-ingest"} {
		f := fixtures(t, name)[0]
		db := f.db(t, Options{})
		fam, _ := db.Family("value")
		keys := probes(t, db)
		slices.SortFunc(keys, bytes.Compare)
		finder := db.Finder(t.Context(), fam.Files)
		defer finder.Close()
		var blocks int64
		for _, m := range fam.Files {
			p, err := db.Properties(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			blocks += int64(p.DataBlocks)
		}
		before := db.planned.wanted.Load()
		got := gathered(t, finder, keys)
		took := db.planned.wanted.Load() - before
		for i, key := range keys {
			want, err := db.Lookup(t.Context(), fam.Files, key)
			if err != nil {
				t.Fatal(err)
			}
			v, found := got[i].Resolve()
			w, present := want.Resolve()
			if found != present || !bytes.Equal(v, w) || len(got[i].Entries) != len(want.Entries) {
				t.Fatalf("%s: %x = %x, %v; want %x, %v", name, key, v, found, w, present)
			}
		}
		if name != "eight-two-level" && took > blocks+blocks/4 {
			t.Errorf("%s: %d keys took %d blocks of %d", name, len(keys), took, blocks)
		}
	}
}

// gathered looks ascending keys up in as few batches as the memory allows.
func gathered(t testing.TB, finder *Finder, keys [][]byte) []History {
	t.Helper()
	histories := make([]History, len(keys))
	asks := make([]Ask, len(keys))
	for i, key := range keys {
		asks[i] = Ask{Key: key, Floor: -1, History: &histories[i]}
	}
	for len(asks) > 0 {
		n, err := finder.Gather(asks)
		if err != nil {
			t.Fatal(err)
		}
		asks = asks[n:]
	}
	for i := range histories {
		histories[i].sort()
	}
	return histories
}

// GetAll gives what Get gives for each key.
func TestGetAll(t *testing.T) {
	for _, name := range []string{"eight-fv5-xxh3", "eight-two-level", "eight-ranges", "six-ingest"} {
		db := fixtures(t, name)[0].db(t, Options{Link: fetch.NewLink(time.Microsecond, fetch.Options{Memory: 8 << 10})})
		keys := probes(t, db)
		slices.SortFunc(keys, bytes.Compare)
		got := map[int]string{}
		if err := db.GetAll(t.Context(), "value", keys, func(i int, v []byte) error {
			got[i] = string(v)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			want, found, err := db.Get(t.Context(), "value", key)
			if v, ok := got[i]; err != nil || ok != found || v != string(want) {
				t.Fatalf("%s: %x = %x, %v; want %x, %v, %v", name, key, v, ok, want, found, err)
			}
		}
		stop := errors.New("stop")
		if err := db.GetAll(t.Context(), "value", keys, func(int, []byte) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
	}
}

// A look-up reads one data block of a table that has the key, whatever its filter, and mostly none of one that has not.
func TestOneBlockForALookup(t *testing.T) {
	for _, name := range []string{"eight-fv5-xxh3", "eight-two-level", "eight-ribbon", "six-fv3-two-level", "ten-fv7"} {
		db := fixtures(t, name)[0].db(t, Options{})
		fam, _ := db.Family("value")
		for _, m := range fam.Files {
			c, err := db.InternalCursor(t.Context(), []FileMeta{m}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			keys, in, out := 0, int64(0), int64(0)
			for c.Next() {
				keys++
				in += blocksFor(t, db, m, c.Key())
				out += blocksFor(t, db, m, append(bytes.Clone(c.Key()), '?'))
			}
			if err := c.Err(); err != nil || c.Close() != nil {
				t.Fatal(err)
			}
			if in != int64(keys) || keys > 40 && out > int64(keys/8) {
				t.Errorf("%s %s: %d keys took %d blocks, and as many that are not there %d", name, m.Name(), keys, in, out)
			}
		}
	}
}

// blocksFor counts the data blocks that a look-up in one table wants.
func blocksFor(t *testing.T, db *DB, m FileMeta, key []byte) int64 {
	t.Helper()
	f := db.Finder(t.Context(), []FileMeta{m})
	defer f.Close()
	var h History
	asks := []Ask{{Key: key, Floor: -1, History: &h}}
	if f.candidates(&asks[0]); asks[0].from == asks[0].to {
		return 0
	}
	if _, err := f.acquire(asks, []int{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.choose(asks, []int{0}); err != nil {
		t.Fatal(err)
	}
	return int64(len(f.open[m.Number].blocks.Spans))
}

func TestNoSuchFamily(t *testing.T) {
	db := fixtures(t, "six-fv5")[0].db(t, Options{})
	got, err := rows(t.Context(), db, "nobody", nil, nil)
	if err != nil || len(got) > 0 {
		t.Errorf("rows = %v, %v", got, err)
	}
	if _, found, err := db.Get(t.Context(), "nobody", []byte("k")); err != nil || found {
		t.Errorf("Get = %v, %v", found, err)
	}
}

func TestFragments(t *testing.T) {
	span := func(start, end string, seq uint64) Tombstone {
		return Tombstone{Start: []byte(start), End: []byte(end), Seq: seq}
	}
	in := []Tombstone{span("a", "m", 5), span("c", "f", 9), span("e", "h", 7), span("x", "z", 1)}
	var b strings.Builder
	for _, s := range fragment(in) {
		fmt.Fprintf(&b, "%s-%s:%d ", s.Start, s.End, s.Seq)
	}
	if got, want := b.String(), "a-c:5 c-e:9 e-f:9 f-h:7 h-m:5 x-z:1 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFoldPutsDelimiterBehindBase(t *testing.T) {
	for _, c := range []struct {
		newestFirst []string
		want        string
	}{{[]string{"a"}, "a"}, {[]string{"b", "a"}, "a,b"}, {[]string{"b", ""}, ",b"}, {[]string{"", ""}, ","}, {[]string{",", "a"}, "a,,"}} {
		var o operands
		for _, p := range c.newestFirst {
			o.add([]byte(p))
		}
		if got := string(o.fold()); got != c.want {
			t.Errorf("%q gives %q, want %q", c.newestFirst, got, c.want)
		}
	}
}
