package javaio

import (
	"errors"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func TestReader(t *testing.T) {
	r := NewReader("f", 100, []byte{1, 0xFF, 0xFE, 0, 0, 0, 5, 0x80, 1, 0, 3, 'a', 0xC0, 0x80, 9})
	if r.Bool() != true || r.Int16() != -2 || r.Int32() != 5 || r.Uvarint() != 128 || r.UTF() != "a\x00" || r.Offset() != 114 {
		t.Fatal(r.Err(), r.Offset())
	}
	r.Skip(1)
	if r.End(); r.Err() != nil {
		t.Fatal(r.Err())
	}
}

// TestFirstFaultSticks: what is read after a fault is zero, and the first fault is the one that is told.
func TestFirstFaultSticks(t *testing.T) {
	r := NewReader("f", 7, []byte{1, 2})
	r.Int32()
	if r.Uint8() != 0 || r.Take(1) != nil || r.Count(1) != 0 || r.UTF() != "" {
		t.Error("a broken reader reads on")
	}
	r.Fail("later")
	if err := r.Err(); !errors.Is(err, fault.ErrTruncated) || err.Error() != "f: offset 7: 4 bytes wanted, 2 left" {
		t.Error(err)
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		min  int
		n    int
		want error
	}{
		{[]byte{0, 0, 0, 2, 1, 2}, 1, 2, nil},
		{[]byte{0, 0, 0, 3, 1, 2}, 1, 0, fault.ErrTruncated},
		{[]byte{0x7F, 0xFF, 0xFF, 0xFF}, 8, 0, fault.ErrTruncated},
		{[]byte{0xFF, 0xFF, 0xFF, 0xFF}, 1, 0, fault.ErrCorrupt},
		{[]byte{0, 0, 1, 0}, 0, 256, nil},
		{[]byte{0x7F, 0, 0, 0}, 0, 0, fault.ErrCorrupt},
	} {
		r := NewReader("f", 0, c.b)
		if n := r.Count(c.min); n != c.n || !errors.Is(r.Err(), c.want) {
			t.Errorf("%x: %d, %v; want %d, %v", c.b, n, r.Err(), c.n, c.want)
		}
	}
}

func TestModifiedUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"abc": "abc", "\xC0\x80": "\x00", "\xC3\xBC": "ü", "\xE6\xBC\xA2": "漢",
		"\xED\xA0\xBD\xED\xBA\x80": "🚀",             // two surrogates of three bytes
		"\xED\xA0\xBDx":            "\xED\xA0\xBDx", // one alone
		"\xED\xBA\x80\xED\xA0\xBD": "\xED\xBA\x80\xED\xA0\xBD",
	} {
		got, ok := AppendModifiedUTF8(nil, []byte(in))
		if !ok || string(got) != want {
			t.Errorf("%x: %x, %v; want %x", in, got, ok, want)
		}
	}
	for _, in := range []string{"\x80", "\xC3", "\xC3x", "\xE6\xBC", "\xF0\x9F\x9A\x80"} {
		if _, ok := AppendModifiedUTF8(nil, []byte(in)); ok {
			t.Errorf("%x is taken", in)
		}
	}
}

func TestEnter(t *testing.T) {
	r := NewReader("f", 0, nil)
	n := 0
	for r.Enter() {
		n++
	}
	if n != maxDeep || !errors.Is(r.Err(), fault.ErrCorrupt) {
		t.Error(n, r.Err())
	}
}

func FuzzUTF(f *testing.F) {
	f.Add([]byte{0, 3, 'a', 0xC0, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader("fuzz", 0, b)
		s := r.UTF()
		if r.Err() != nil && (s != "" || !errors.Is(r.Err(), fault.ErrCorrupt)) {
			t.Fatal(s, r.Err())
		}
	})
}
