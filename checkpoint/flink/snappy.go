package flink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// Snappy's framing: chunks of a type byte, a length of three bytes little-endian, and a body. A stream starts with an
// identifier; streams may follow one another.
//
//	FF  identifier "sNaPpY"            FE, 80..FD  skipped
//	00  checksum (4B), Snappy block    01          checksum (4B), plain bytes
const (
	chunkCompressed = 0x00
	chunkStored     = 0x01
	chunkSkippable  = 0x80
	chunkIdentifier = 0xFF

	chunkHeader   = 4
	chunkChecksum = 4
	identifier    = "sNaPpY"

	maxBlock = 64 << 10 // decoded bytes of a chunk
	maxChunk = chunkChecksum + 32 + maxBlock + maxBlock/6
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frames decodes framed Snappy. It may start at any chunk, as reading operator state from an offset demands. Flink starts
// one stream for each state of a key group: with single set, the second identifier ends the source before itself.
type frames struct {
	in      plain
	single  bool
	started bool
	ahead   []byte // read and not consumed
	base    int64  // file offset of ahead[0]
}

func newFrames(f storage.File, from, end int64, single bool) *frames {
	return &frames{in: *newPlain(f, position{at: from}, end), single: single, base: from}
}

// fill appends what the next chunk that holds data decodes to.
func (s *frames) fill(ctx context.Context, dst []byte) ([]byte, int64, error) {
	for {
		at := s.base
		kind, body, err := s.chunk(ctx)
		if err != nil {
			return dst, at, err
		}
		switch {
		case kind == chunkCompressed || kind == chunkStored:
			before := len(dst)
			if dst, err = s.decode(dst, at, kind, body); err != nil || len(dst) > before {
				return dst, at, err
			}
		case kind == chunkIdentifier:
			if string(body) != identifier {
				return dst, at, fault.Corrupt(s.name(), at, "Snappy stream identifier %q", body)
			}
		case kind < chunkSkippable:
			return dst, at, fault.Unsupported(s.name(), at, "Snappy chunk of type 0x%02X", kind)
		}
		s.started = true
	}
}

// skipStream goes to the end of a single stream without decoding it.
func (s *frames) skipStream(ctx context.Context) error {
	for {
		if _, _, err := s.chunk(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

func (s *frames) name() string { return s.in.f.Name() }

// chunk consumes the next chunk. Skipped ones have no body.
func (s *frames) chunk(ctx context.Context) (kind byte, body []byte, err error) {
	header, err := s.peek(ctx, chunkHeader)
	if err != nil {
		if errors.Is(err, io.EOF) && len(header) > 0 {
			err = s.short(chunkHeader, len(header))
		}
		return 0, nil, err
	}
	kind = header[0]
	n := int(header[1]) | int(header[2])<<8 | int(header[3])<<16
	switch {
	case kind == chunkIdentifier && s.single && s.started:
		return 0, nil, io.EOF
	case kind >= chunkSkippable && kind != chunkIdentifier:
		return kind, nil, s.discard(n)
	case n > maxChunk:
		return 0, nil, fault.Corrupt(s.name(), s.base, "Snappy chunk of %d bytes", n)
	}
	n += chunkHeader
	whole, err := s.peek(ctx, n)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = s.short(n, len(whole))
		}
		return 0, nil, err
	}
	s.advance(n)
	return kind, whole[chunkHeader:n], nil
}

// peek gives at least the next n bytes without consuming them, or what there is and io.EOF.
func (s *frames) peek(ctx context.Context, n int) ([]byte, error) {
	for len(s.ahead) < n {
		if cap(s.ahead)-len(s.ahead) < n {
			s.ahead = append(make([]byte, 0, 2*n+maxPiece), s.ahead...)
		}
		var err error
		if s.ahead, _, err = s.in.fill(ctx, s.ahead); err != nil {
			return s.ahead, err
		}
	}
	return s.ahead, nil
}

func (s *frames) advance(n int) { s.ahead, s.base = s.ahead[n:], s.base+int64(n) }

// discard consumes a chunk whose body is n bytes and of no interest.
func (s *frames) discard(n int) error {
	n += chunkHeader
	if n <= len(s.ahead) {
		s.advance(n)
		return nil
	}
	if left := s.in.end - s.base; int64(n) > left {
		return s.short(n, int(left))
	}
	s.base += int64(n)
	s.ahead, s.in.off = s.ahead[:0], s.base
	return nil
}

func (s *frames) short(want, got int) error {
	return &fault.CorruptError{File: s.name(), Offset: s.base, Truncated: true,
		Reason: fmt.Sprintf("Snappy chunk of %d bytes, %d left", want, got)}
}

// decode appends the data of a chunk to dst once its checksum has been verified.
func (s *frames) decode(dst []byte, at int64, kind byte, body []byte) ([]byte, error) {
	if len(body) < chunkChecksum {
		return dst, fault.Corrupt(s.name(), at, "Snappy chunk without a checksum")
	}
	want, data := binary.LittleEndian.Uint32(body), body[chunkChecksum:]
	n := len(data)
	if kind == chunkCompressed {
		var err error
		if n, err = snappy.DecodedLen(data); err != nil {
			return dst, fault.Corrupt(s.name(), at, "Snappy block: %v", err)
		}
	}
	if n > maxBlock {
		return dst, fault.Corrupt(s.name(), at, "Snappy block of %d bytes", n)
	}
	dst = slices.Grow(dst, n)
	out := dst[len(dst) : len(dst)+n]
	if kind == chunkStored {
		copy(out, data)
	} else if _, err := snappy.Decode(out, data); err != nil {
		return dst, fault.Corrupt(s.name(), at, "Snappy block: %v", err)
	}
	if got := masked(crc32.Checksum(out, castagnoli)); got != want {
		return dst, fault.Corrupt(s.name(), at, "Snappy checksum %08x, computed %08x", want, got)
	}
	return dst[:len(dst)+n], nil
}

// masked is Snappy's disguise for checksums of data that holds checksums.
func masked(c uint32) uint32 { return (c>>15 | c<<17) + 0xA282EAD8 }
