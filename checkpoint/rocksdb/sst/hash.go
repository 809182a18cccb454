package sst

import (
	"encoding/binary"
	"math/bits"
)

// filterHash is the hash of keys in RocksDB's newer filters: XXH3 as it was before its release, which differs for most lengths
// from what it became, with a value of its own for the empty key.
func filterHash(b []byte) uint64 {
	switch n := len(b); {
	case n == 0:
		return fold(secret64(0), prime64x2)
	case n <= 3:
		v := uint32(b[0]) | uint32(b[n/2])<<8 | uint32(b[n-1])<<16 | uint32(n)<<24
		return avalanche((uint64(v) ^ uint64(uint32(secret64(0)))) * prime64x1)
	case n <= 8:
		v := uint64(le32(b)) | uint64(le32(b[n-4:]))<<32
		v ^= secret64(0)
		v = uint64(n) + (v^v>>51)*prime32x1
		return avalanche((v ^ v>>47) * prime64x2)
	case n <= 16:
		lo, hi := le64(b)^secret64(0), le64(b[n-8:])^secret64(8)
		return avalanche(uint64(n) + lo + hi + fold(lo, hi))
	case n <= 128:
		return hash128(b)
	case n <= 240:
		return hash240(b)
	}
	return hashLong(b)
}

const (
	prime64x1 = 0x9e3779b185ebca87
	prime64x2 = 0xc2b2ae3d27d4eb4f
	prime64x3 = 0x165667b19e3779f9
	prime64x4 = 0x85ebca77c2b2ae63
	prime64x5 = 0x27d4eb2f165667c5
)

func le32(b []byte) uint32        { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64        { return binary.LittleEndian.Uint64(b) }
func secret64(at int) uint64      { return le64(secret[at:]) }
func mix(b []byte, at int) uint64 { return fold(le64(b)^secret64(at), le64(b[8:])^secret64(at+8)) }

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * prime64x3
	return h ^ h>>32
}

// hash128 takes 16 bytes at a time from both ends, up to where they meet.
func hash128(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := (n - 1) / 32; i >= 0; i-- {
		h += mix(b[16*i:], 32*i) + mix(b[n-16*(i+1):], 32*i+16)
	}
	return avalanche(h)
}

func hash240(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := range 8 {
		h += mix(b[16*i:], 16*i)
	}
	h = avalanche(h)
	for i := 8; i < n/16; i++ {
		h += mix(b[16*i:], 16*(i-8)+3)
	}
	return avalanche(h + mix(b[n-16:], 136-17))
}

const (
	stripe          = 64
	stripesPerBlock = (len(secret) - stripe) / 8
)

// hashLong gathers stripes in eight lanes, scrambled after each block of them.
func hashLong(b []byte) uint64 {
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	for at, i := 0, 0; at+stripe <= len(b); at += stripe {
		accumulate(&acc, b[at:], 8*i)
		if i++; i == stripesPerBlock {
			scramble(&acc)
			i = 0
		}
	}
	if len(b)%stripe != 0 {
		accumulate(&acc, b[len(b)-stripe:], len(secret)-stripe-7)
	}
	h := uint64(len(b)) * prime64x1
	for i := 0; i < 8; i += 2 {
		h += fold(acc[i]^secret64(11+8*i), acc[i+1]^secret64(19+8*i))
	}
	return avalanche(h)
}

func accumulate(acc *[8]uint64, b []byte, at int) {
	for i := range acc {
		v := le64(b[8*i:])
		k := v ^ secret64(at+8*i)
		acc[i] += v + (k&0xffffffff)*(k>>32)
	}
}

func scramble(acc *[8]uint64) {
	for i, a := range acc {
		acc[i] = (a ^ a>>47 ^ secret64(len(secret)-stripe+8*i)) * prime32x1
	}
}

// legacyHash is the hash of keys in the filters of format versions below 5. Bytes of the tail count as signed.
func legacyHash(b []byte) uint32 {
	const m = 0xc6a4a793
	h := uint32(0xbc9f1d34) ^ uint32(len(b))*m
	for ; len(b) >= 4; b = b[4:] {
		h = (h + le32(b)) * m
		h ^= h >> 16
	}
	if len(b) == 0 {
		return h
	}
	for i, c := range b {
		h += uint32(int32(int8(c))) << (8 * i)
	}
	h *= m
	return h ^ h>>24
}

// secret is XXH3's default one.
var secret = [192]byte{
	0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
	0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
	0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
	0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
	0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
	0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
	0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
	0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
	0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
	0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
	0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
	0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
}
