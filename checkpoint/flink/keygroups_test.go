package flink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// stream is a stream of key groups made by hand around the head of a real one.
type stream struct {
	writer
	offsets   []int64
	canonical bool
	id        map[string]int // states by name
	names     []string
	o         state.Options
}

// newStream starts with the head of a fixture's first stream. Its states: customer (value), purchases (map of string to
// long), notes (list of string), and others; key: string.
func newStream(t testing.TB, fixture string) *stream {
	t.Helper()
	snap := openFixture(t, fixture)
	k, _ := snap.keyGroups(t, "purchases")
	defer k.Close()
	head := make([]byte, k.starts[slices.IndexFunc(k.starts, func(o int64) bool { return o > 0 })])
	if err := k.file.ReadAt(context.Background(), head, 0); err != nil {
		t.Fatal(err)
	}
	s := &stream{writer: head, canonical: k.handle.Canonical, id: map[string]int{}, o: snap.options()}
	for i, m := range k.Meta().States {
		s.id[m.Name] = i
		s.names = append(s.names, m.Name)
	}
	return s
}

// group starts a key group; the block of each state follows.
func (s *stream) group() { s.offsets = append(s.offsets, int64(len(s.writer))) }

// heapGroup writes a key group in which all states are empty but one.
func (s *stream) heapGroup(name string, n int32, entries func(w *writer)) {
	g := int32(len(s.offsets))
	s.group()
	s.i32(g)
	for _, other := range s.names {
		s.u16(uint16(s.id[other]))
		if other != name {
			s.i32(0)
			continue
		}
		s.i32(n)
		entries(&s.writer)
	}
}

func (s *stream) open(t testing.TB) *KeyGroups {
	t.Helper()
	k, err := s.tryOpen()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *stream) tryOpen() (*KeyGroups, error) {
	h := &KeyGroupsHandle{Range: KeyGroupRange{0, len(s.offsets) - 1}, Offsets: s.offsets, Canonical: s.canonical, Stream: &StreamHandle{}}
	open := func(context.Context, *StreamHandle) (storage.File, error) {
		return storage.NewInline("stream", s.writer), nil
	}
	return OpenKeyGroups(context.Background(), h, open, s.o, 128)
}

// read gives the entries of a state in key group 0.
func (s *stream) read(t testing.TB, k *KeyGroups, name string) ([]Entry, error) {
	t.Helper()
	var out []Entry
	for e, err := range k.Entries(context.Background(), s.id[name], 0) {
		if err != nil {
			return out, err
		}
		out = append(out, Entry{bytes.Clone(e.Key), bytes.Clone(e.Value)})
	}
	return out, nil
}

func text(s string) string { return string(*new(writer).text(s)) }

// TestHeapForms: what the heap backend writes gets the forms that RocksDB has.
func TestHeapForms(t *testing.T) {
	long := strings.Repeat("x", 3<<20) // far more than a window
	s := newStream(t, "heap-1.20")
	s.heapGroup("purchases", 2, func(w *writer) {
		w.u8(0).text("k").i32(3)
		w.text("a").u8(0).i64(1)
		w.text("b").u8(7) // a null; any byte but 0 says so
		w.text(long).u8(0).i64(2)
		w.u8(0).text("empty").i32(0)
	})
	k := s.open(t)
	defer k.Close()
	got, err := s.read(t, k, "purchases")
	if err != nil {
		t.Fatal(err)
	}
	prefix := "\x00" + text("k") + "\x00" // key group, key, namespace; a void namespace has a fixed length
	one, two := string(binary.BigEndian.AppendUint64(nil, 1)), string(binary.BigEndian.AppendUint64(nil, 2))
	want := []Entry{
		{[]byte(prefix + text("a")), []byte("\x00" + one)},
		{[]byte(prefix + text("b")), []byte("\x01")},
		{[]byte(prefix + text(long)), []byte("\x00" + two)},
	}
	equalEntries(t, got, want)
}

func TestHeapLists(t *testing.T) {
	long := strings.Repeat("y", 5<<20)
	s := newStream(t, "heap-1.20")
	s.heapGroup("notes", 3, func(w *writer) {
		w.u8(0).text("k").i32(3).text("a,b").text(long).text(",")
		w.u8(0).text("none").i32(0)
		w.u8(0).text("l").i32(1).text("")
	})
	k := s.open(t)
	defer k.Close()
	got, err := s.read(t, k, "notes")
	if err != nil {
		t.Fatal(err)
	}
	equalEntries(t, got, []Entry{
		{[]byte("\x00" + text("k") + "\x00"), []byte(text("a,b") + "," + text(long) + "," + text(","))},
		{[]byte("\x00" + text("l") + "\x00"), []byte(text(""))},
	})
}

func equalEntries(t *testing.T, got, want []Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i].Key, want[i].Key) || !bytes.Equal(got[i].Value, want[i].Value) {
			t.Errorf("entry %d: %.80q = %.80q, want %.80q = %.80q", i, got[i].Key, got[i].Value, want[i].Key, want[i].Value)
		}
	}
}

func TestHeapRefuses(t *testing.T) {
	pair := func(w *writer) { w.u8(0).text("k").i32(1).text("a").u8(0).i64(1) }
	for name, c := range map[string]struct {
		edit func(s *stream)
		want error
		text string
	}{
		"cut short":          {func(s *stream) { s.heapGroup("purchases", 1, pair); s.writer = s.writer[:len(s.writer)-60] }, fault.ErrTruncated, ""},
		"more than is there": {func(s *stream) { s.heapGroup("purchases", 1<<30, pair) }, fault.ErrCorrupt, ""},
		"negative count":     {func(s *stream) { s.heapGroup("purchases", -1, pair) }, fault.ErrCorrupt, "negative count -1"},
		"other key group":    {func(s *stream) { s.group(); s.i32(9).bytes(make([]byte, 99)) }, fault.ErrCorrupt, "key group 9 where 0"},
		"unknown state":      {func(s *stream) { s.group(); s.i32(0).u16(99).i32(0) }, fault.ErrCorrupt, "state 99"},
		"state twice": {func(s *stream) {
			s.group()
			s.i32(0).u16(uint16(s.id["notes"])).i32(0).u16(uint16(s.id["notes"])).i32(0)
		}, fault.ErrCorrupt, "second time"},
		"state missing":     {func(s *stream) { s.group(); s.i32(0).u16(uint16(s.id["notes"])).i32(0) }, fault.ErrTruncated, "ends before this state"},
		"starts in nowhere": {func(s *stream) { s.heapGroup("purchases", 1, pair); s.offsets = append(s.offsets[:0], 1<<40) }, fault.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, "heap-1.20")
			c.edit(s)
			k, err := s.tryOpen()
			if err == nil {
				defer k.Close()
				_, err = s.read(t, k, "purchases")
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// canonicalGroup writes pairs of one state; the first bit of the last key is set as the format has it.
func (s *stream) canonicalGroup(name string, pairs ...string) {
	s.group()
	s.u16(uint16(s.id[name]))
	for i := 0; i < len(pairs); i += 2 {
		key := []byte(pairs[i])
		if i == len(pairs)-2 {
			key[0] |= lastOfState
		}
		s.blob(string(key)).blob(pairs[i+1])
	}
	s.u16(endOfKeyGroup)
}

func TestCanonical(t *testing.T) {
	long := strings.Repeat("z", 2<<20)
	s := newStream(t, "canonical-rocksdb-1.20")
	s.canonicalGroup("notes", "\x00k1", long, "\x00k2", "")
	k := s.open(t)
	defer k.Close()
	for range 2 {
		got, err := s.read(t, k, "notes")
		if err != nil {
			t.Fatal(err)
		}
		equalEntries(t, got, []Entry{{[]byte("\x00k1"), []byte(long)}, {[]byte("\x00k2"), nil}})
		if got, err = s.read(t, k, "purchases"); err != nil || len(got) > 0 {
			t.Errorf("%d entries of a state without any, %v", len(got), err)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(s *stream)
		want error
		text string
	}{
		"cut short":       {func(s *stream) { s.canonicalGroup("notes", "\x00k", "v"); s.writer = s.writer[:len(s.writer)-2] }, fault.ErrTruncated, ""},
		"left over":       {func(s *stream) { s.canonicalGroup("notes", "\x00k", "v"); s.u8(0) }, fault.ErrCorrupt, "left over"},
		"other key group": {func(s *stream) { s.canonicalGroup("notes", "\x05k", "v") }, fault.ErrCorrupt, "another key group"},
		"empty key":       {func(s *stream) { s.group(); s.u16(uint16(s.id["notes"])).i32(0).i32(0).bytes(make([]byte, 99)) }, fault.ErrCorrupt, "key of 0 bytes"},
		"huge key":        {func(s *stream) { s.group(); s.u16(uint16(s.id["notes"])).i32(1 << 30).i32(0) }, fault.ErrTruncated, ""},
		"unknown state":   {func(s *stream) { s.group(); s.u16(999) }, fault.ErrCorrupt, "state 999"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, "canonical-rocksdb-1.20")
			c.edit(s)
			k := s.open(t)
			defer k.Close()
			_, err := s.read(t, k, "purchases")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestStreamFlipped flips single bits of real streams. A compressed one detects each; of the others none may give a third
// kind of error.
func TestStreamFlipped(t *testing.T) {
	for _, name := range []string{"heap-1.20", "canonical-rocksdb-1.20", "canonical-compressed-2.3"} {
		t.Run(name, func(t *testing.T) {
			k, _ := openFixture(t, name).keyGroups(t, "")
			defer k.Close()
			b, err := storage.ReadAll(context.Background(), k.file, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			first := 0
			for k.handle.Offsets[first] == 0 {
				first++
			}
			g := first + k.Range().First
			off, end, err := k.bounds(g)
			if err != nil {
				t.Fatal(err)
			}
			good, err := scan(k, b, g)
			if err != nil || good == "" {
				t.Fatalf("%q, %v", good, err)
			}
			for bit := off * 8; bit < end*8; bit += 5 {
				b[bit/8] ^= 1 << (bit % 8)
				got, err := scan(k, b, g)
				if !formatError(err) {
					t.Fatalf("bit %d: %v", bit, err)
				}
				if err == nil && k.meta.Compression && got != good { // another compressed form of the same bytes is fine
					t.Errorf("bit %d passes unnoticed", bit)
				}
				b[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
}

// scan reads all of one key group from other bytes than k's own.
func scan(k *KeyGroups, b []byte, g int) (string, error) {
	var text strings.Builder
	other := &KeyGroups{file: storage.NewInline("flipped", b), handle: k.handle, meta: k.meta, maxParallelism: k.maxParallelism, canonical: k.canonical,
		starts: k.starts, blocks: map[int]*blocks{}}
	for id := range k.meta.States {
		for e, err := range other.Entries(context.Background(), id, g) {
			if err != nil {
				return text.String(), err
			}
			text.WriteString(string(e.Key) + "=" + string(e.Value) + ";")
		}
	}
	return text.String(), nil
}

// TestOldHandles: handles of before Flink 1.13 do not say what their streams are.
func TestOldHandles(t *testing.T) {
	for _, name := range []string{"heap-1.20", "heap-compressed-2.3", "canonical-rocksdb-1.20", "canonical-compressed-2.3"} {
		snap := openFixture(t, name)
		for _, o := range snap.Operators {
			for _, sub := range o.Subtasks {
				h, ok := sub.ManagedKeyed.(*KeyGroupsHandle)
				if !ok {
					continue
				}
				old := *h
				old.Canonical, old.Old = false, true
				k, err := OpenKeyGroups(context.Background(), &old, snap.open, snap.options(), o.MaxParallelism)
				if err != nil {
					t.Fatal(err)
				}
				if k.canonical != h.Canonical {
					t.Errorf("%s, key groups %s: canonical %t", name, h.Range, k.canonical)
				}
				k.Close()
			}
		}
	}
}

func FuzzKeyGroups(f *testing.F) {
	heap, canonical := newStream(f, "heap-1.20"), newStream(f, "canonical-compressed-2.3")
	heads := [2]int{len(heap.writer), len(canonical.writer)}
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"), false, false)
	f.Add(frame([]byte("\x00\x00\x00\x00\x00\x02\x80k\x00\x00\x00\x00\xFF\xFF")), true, true)
	f.Add([]byte("\x00\x00\x00\x00\x00\x02\x80k\x00\x00\x00\x00\xFF\xFF"), true, false)
	f.Fuzz(func(t *testing.T, b []byte, isCanonical, compressed bool) {
		s, head := *heap, heads[0]
		if isCanonical {
			s, head = *canonical, heads[1]
		}
		s.writer = append(slices.Clone(s.writer[:head]), b...)
		s.offsets = []int64{int64(head)}
		k, err := s.tryOpen()
		if err != nil {
			t.Fatal(err)
		}
		k.meta.Compression = compressed
		for name := range s.id {
			if _, err := s.read(t, k, name); !formatError(err) && len(b) > 0 {
				t.Fatal(err)
			}
		}
	})
}
