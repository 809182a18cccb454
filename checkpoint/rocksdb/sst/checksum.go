package sst

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

type checksumType uint8

const (
	noChecksum checksumType = iota
	crc32c
	xxHash32
	xxHash64
	xxHash3
	maxChecksum = xxHash3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum gives the checksum of b, a block with its compression byte.
func (t checksumType) sum(b []byte) uint32 {
	switch t {
	case crc32c:
		return bits.RotateLeft32(crc32.Checksum(b, castagnoli), -15) + 0xa282ead8
	case xxHash32:
		return xxh32(b)
	case xxHash64:
		return uint32(xxhash.Sum64(b))
	case xxHash3: // the last byte comes on top, so that a block's sum need not be redone when its compression is known
		if len(b) == 0 {
			return 0
		}
		n := len(b) - 1
		return uint32(xxh3.Hash(b[:n])) ^ uint32(b[n])*0x6b9083d9
	}
	return 0
}

const (
	prime32x1 = 0x9e3779b1
	prime32x2 = 0x85ebca77
	prime32x3 = 0xc2b2ae3d
	prime32x4 = 0x27d4eb2f
	prime32x5 = 0x165667b1
)

// xxh32 is XXH32 with seed 0.
func xxh32(b []byte) uint32 {
	n := uint32(len(b))
	h := uint32(prime32x5)
	if len(b) >= 16 {
		h, b = xxh32Stripes(b)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime32x3, 17) * prime32x4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime32x5, 11) * prime32x1
	}
	h = (h ^ h>>15) * prime32x2
	h = (h ^ h>>13) * prime32x3
	return h ^ h>>16
}

func xxh32Stripes(b []byte) (h uint32, rest []byte) {
	p1 := uint32(prime32x1)
	v1, v2, v3, v4 := p1+prime32x2, uint32(prime32x2), uint32(0), -p1
	for ; len(b) >= 16; b = b[16:] {
		v1 = bits.RotateLeft32(v1+binary.LittleEndian.Uint32(b)*prime32x2, 13) * prime32x1
		v2 = bits.RotateLeft32(v2+binary.LittleEndian.Uint32(b[4:])*prime32x2, 13) * prime32x1
		v3 = bits.RotateLeft32(v3+binary.LittleEndian.Uint32(b[8:])*prime32x2, 13) * prime32x1
		v4 = bits.RotateLeft32(v4+binary.LittleEndian.Uint32(b[12:])*prime32x2, 13) * prime32x1
	}
	return bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18), b
}
