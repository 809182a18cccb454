package sst

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/statebridge/statebridge/fault"
)

func known(err error) bool {
	return err == nil || errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported)
}

func FuzzFooter(f *testing.F) {
	plain := append(append([]byte{4, 0xbf, 0x4b, 0x3c, 0xbf, 0x43, 0xa1, 1}, make([]byte, 33)...), 5, 0, 0, 0, 0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88)
	f.Add(plain)
	six := bytes.Clone(plain)
	copy(six[1:], []byte{0x3e, 0, 0x7a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0})
	six[0], six[41] = 0, 6
	f.Add(six)
	f.Fuzz(func(t *testing.T, b []byte) {
		foot, err := decodeFooter("fuzz", b, int64(len(b))+1000)
		if !known(err) || foot == nil && err == nil {
			t.Fatal(err)
		}
	})
}

// sample is a block of three entries with one restart.
var sample = []byte("\x00\x09\x01a\x01\x05\x00\x00\x00\x00\x00\x00v" + "\x01\x09\x01b\x01\x04\x00\x00\x00\x00\x00\x00w" +
	"\x00\x09\x00c\x01\x03\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x01\x00\x00\x00")

func FuzzBlock(f *testing.F) {
	f.Add(sample, []byte("b"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		blk, err := parseBlock("fuzz", 0, b)
		if !known(err) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		var e entries
		e.reset(blk)
		for e.step() {
		}
		e.reset(blk)
		for _, ok := e.stepInternal(); ok; _, ok = e.stepInternal() {
		}
		e.reset(blk)
		e.seek(func(k []byte) bool { return bytes.Compare(k, key) < 0 })
		if !known(e.err) {
			t.Fatal(e.err)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(sample, []byte("b"), byte(0))
	f.Add([]byte("\x00\x01a\x00\x64\x00\x01b\x65\x64\x00\x00\x00\x00\x01\x00\x00\x00"), []byte("b"), byte(3))
	f.Fuzz(func(t *testing.T, b, key []byte, form byte) {
		blk, err := parseBlock("fuzz", 0, b)
		if err != nil {
			return
		}
		var x indexEntries
		x.reset(blk, indexForm{userKeys: form&1 != 0, delta: form&2 != 0, firstKey: form&4 != 0})
		for n := 0; x.step(); n++ {
			if n > len(b) {
				t.Fatal("more entries than bytes")
			}
		}
		x.seek(key)
		if !known(x.err) {
			t.Fatal(x.err)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, b []byte) {
		blk, err := parseBlock("fuzz", 0, b)
		if err != nil {
			return
		}
		if _, err := parseProperties(blk); !known(err) {
			t.Fatal(err)
		}
	})
}

func FuzzFilter(f *testing.F) {
	bits := bytes.Repeat([]byte{0x5a}, 128)
	f.Add(append(bytes.Clone(bits), 0xff, 0, 6, 0, 0), []byte("key"))
	f.Add(append(bytes.Clone(bits), 0xfe, 9, 3, 0, 0), []byte("key"))
	f.Add(append(bytes.Clone(bits), 6, 2, 0, 0, 0), []byte("key"))
	f.Fuzz(func(_ *testing.T, filter, key []byte) { mayMatch(filter, key) })
}

func FuzzDecompress(f *testing.F) {
	f.Add(snappy.Encode(nil, bytes.Repeat([]byte("abc"), 100)), byte(snappyBlock), uint32(5))
	f.Add([]byte("\x05\x50hello"), byte(lz4Block), uint32(5))
	f.Add([]byte("\x00\x50hello"), byte(lz4Block), uint32(5))
	f.Add([]byte("\x05\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello"), byte(zstdFrame), uint32(5))
	f.Add([]byte("\x05\x01\x05\x00\xfa\xffhello"), byte(deflateBlock), uint32(2))
	f.Fuzz(func(t *testing.T, b []byte, compression byte, version uint32) {
		d := &decompressor{version: version}
		out, err := d.block(nil, b, compression)
		if err == nil && len(out) > 1<<26 && len(b) < 1<<10 {
			t.Fatalf("%d bytes of %d", len(out), len(b))
		}
	})
}
