package spill

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type kv struct{ key, value []byte }

// TestSortedEqualsStableSort holds for any input and any memory, spilled or not.
func TestSortedEqualsStableSort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) kv {
			return kv{rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "key"), rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "value")}
		}), 0, 400).Draw(rt, "pairs")
		s := &Sorter{Dir: t.TempDir(), Memory: NewMemory(rapid.SampledFrom([]int{1, 20_000, 80_000, 1 << 20}).Draw(rt, "memory"))}
		defer s.Close()
		for _, p := range in {
			if err := s.Add(p.key, p.value); err != nil {
				rt.Fatal(err)
			}
		}
		got := collect(rt, s)
		slices.SortStableFunc(in, func(a, b kv) int { return bytes.Compare(a.key, b.key) })
		if !slices.EqualFunc(got, in, func(a, b kv) bool { return bytes.Equal(a.key, b.key) && bytes.Equal(a.value, b.value) }) {
			rt.Fatalf("got %v, want %v", got, in)
		}
	})
}

func collect(t *rapid.T, s *Sorter) (got []kv) {
	c, err := s.Sorted()
	if err != nil {
		t.Fatal(err)
	}
	for c.Next() {
		got = append(got, kv{bytes.Clone(c.Key()), bytes.Clone(c.Value())})
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestMemoryIsShared: Sorters together hold no more than their Memory, but for what each cannot do without, and give all of it back.
func TestMemoryIsShared(t *testing.T) {
	const limit, sorters = 1 << 20, 10
	m, dir := NewMemory(limit), t.TempDir()
	var all [sorters]Sorter
	value := make([]byte, 100)
	for i := range 20_000 {
		s := &all[i%sorters]
		s.Dir, s.Memory = dir, m
		if err := s.Add([]byte{byte(i), byte(i >> 8)}, value); err != nil {
			t.Fatal(err)
		}
		if used := m.used.Load(); used > limit+sorters*(minSlab+8*pairSize) {
			t.Fatalf("%d bytes in use after %d pairs", used, i)
		}
	}
	for i := range all {
		c, err := all[i].Sorted()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for c.Next() {
			n++
		}
		if err := c.Close(); err != nil || n != 20_000/sorters {
			t.Fatalf("%d pairs, %v", n, err)
		}
		if err := all[i].Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := m.used.Load(); left != 0 {
		t.Fatalf("%d bytes still taken", left)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	s := &Sorter{Dir: dir, Memory: NewMemory(64)}
	for i := range 2000 {
		if err := s.Add([]byte{byte(i * 7)}, bytes.Repeat([]byte{1}, 50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Fatalf("%d files left", len(left))
	}
}

func TestUnwritableDirectoryIsAnError(t *testing.T) {
	s := &Sorter{Dir: t.TempDir() + "/missing", Memory: NewMemory(1)}
	defer s.Close()
	value := make([]byte, minSlab)
	if err := s.Add([]byte("a"), value); err != nil {
		t.Fatal(err)
	}
	if err := s.Add([]byte("b"), value); err == nil {
		t.Fatal("no error from a directory that does not exist")
	}
}

func BenchmarkSort(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := &Sorter{Dir: b.TempDir(), Memory: NewMemory(4 << 20)}
		var key [8]byte
		for i := range 100_000 {
			h := uint64(i) * 0x9E3779B97F4A7C15
			for j := range key {
				key[j] = byte(h >> (8 * j))
			}
			if err := s.Add(key[:], key[:]); err != nil {
				b.Fatal(err)
			}
		}
		c, err := s.Sorted()
		if err != nil {
			b.Fatal(err)
		}
		for c.Next() {
		}
		c.Close()
	}
}
