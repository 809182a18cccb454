package flink

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

const streamStart = "\xFF\x06\x00\x00sNaPpY"

// chunk frames data, compressed or stored.
func chunk(kind byte, data []byte) []byte {
	body := binary.LittleEndian.AppendUint32(nil, masked(crc32.Checksum(data, castagnoli)))
	if kind == chunkCompressed {
		body = append(body, snappy.Encode(nil, data)...)
	} else {
		body = append(body, data...)
	}
	return append([]byte{kind, byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16)}, body...)
}

// frame writes data as Flink does: chunks of 64 KiB at most.
func frame(data []byte) []byte {
	out := []byte(streamStart)
	for len(data) > 0 {
		n := min(len(data), maxBlock)
		out = append(out, chunk(chunkCompressed, data[:n])...)
		data = data[n:]
	}
	return out
}

func unframe(b []byte, single bool) ([]byte, *frames, error) {
	s := newFrames(storage.NewInline("test", b), 0, int64(len(b)), single)
	var out []byte
	for {
		var err error
		if out, _, err = s.fill(context.Background(), out); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, s, err
		}
	}
}

func TestFrames(t *testing.T) {
	random := make([]byte, 300<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(r.Uint32()) & 0x1F
	}
	flink, err := hex.DecodeString("ff060000734e6150705901090000bb1f1c1968656c6c6f") // what snappy-java wrote
	if err != nil {
		t.Fatal(err)
	}
	skipped := append([]byte("\xFE\x02\x00\x00xx\x80\x00\x00\x00\xFD\xFF\xFF\x0F"), make([]byte, 0x0FFFFF)...)
	for name, c := range map[string]struct{ in, want []byte }{
		"nothing":           {nil, nil},
		"empty stream":      {[]byte(streamStart), nil},
		"written by Flink":  {flink, []byte("hello")},
		"many chunks":       {frame(random), random},
		"two streams":       {append(frame([]byte("a")), frame([]byte("b"))...), []byte("ab")},
		"no identifier":     {chunk(chunkStored, []byte("a")), []byte("a")},
		"skipped chunks":    {append(bytes.Clone(skipped), frame([]byte("a"))...), []byte("a")},
		"chunk of no bytes": {append(chunk(chunkStored, nil), chunk(chunkCompressed, []byte("a"))...), []byte("a")},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := unframe(c.in, false)
			if err != nil || !bytes.Equal(got, c.want) {
				t.Errorf("%d bytes, want %d; %v", len(got), len(c.want), err)
			}
		})
	}
}

// TestFramesSingle: a single stream ends before the next identifier, where the next one can be read.
func TestFramesSingle(t *testing.T) {
	first := frame([]byte("first"))
	got, s, err := unframe(append(bytes.Clone(first), frame([]byte("second"))...), true)
	if err != nil || string(got) != "first" || s.base != int64(len(first)) {
		t.Errorf("%q up to %d, %v", got, s.base, err)
	}
}

func TestFramesRefuse(t *testing.T) {
	good := frame([]byte("hello"))
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"cut in a header":     {good[:12], fault.ErrTruncated},
		"cut in a chunk":      {good[:len(good)-1], fault.ErrTruncated},
		"cut in a skipped":    {[]byte("\xFE\x05\x00\x00xx"), fault.ErrTruncated},
		"unknown chunk":       {[]byte("\x02\x00\x00\x00"), fault.ErrUnsupported},
		"other identifier":    {[]byte("\xFF\x06\x00\x00sNaPpX"), fault.ErrCorrupt},
		"no checksum":         {[]byte("\x01\x03\x00\x00abc"), fault.ErrCorrupt},
		"huge block":          {chunk(chunkStored, make([]byte, maxBlock+1)), fault.ErrCorrupt},
		"huge when decoded":   {chunk(chunkCompressed, make([]byte, maxBlock+1)), fault.ErrCorrupt},
		"longer than allowed": {[]byte("\x00\xFF\xFF\xFF"), fault.ErrCorrupt},
	} {
		if _, _, err := unframe(c.in, false); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFramesFlipped flips every bit of a chunk: the checksum leaves none undetected.
func TestFramesFlipped(t *testing.T) {
	b := frame(bytes.Repeat([]byte("statebridge "), 20))
	for bit := 8 * (len(streamStart) + chunkHeader); bit < 8*len(b); bit++ {
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := unframe(b, false); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("bit %d: %v", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(frame([]byte("hello")), true)
	f.Add(append(frame(nil), frame(bytes.Repeat([]byte("x"), 70<<10))...), false)
	f.Fuzz(func(t *testing.T, b []byte, single bool) {
		if _, _, err := unframe(b, single); !formatError(err) {
			t.Fatal(err)
		}
	})
}
