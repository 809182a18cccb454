package sst

import (
	"encoding/binary"
	"math/bits"
)

// A filter ends in five bytes. The first says which kind it is:
//
//	+------+---------------+--------------------------------------------------+
//	| data | 1 … 127       | u32 number of cache lines                        |   legacy bloom, that many probes
//	| data | -1            | 0, probes (5 bits) and line size (3 bits), 0, 0  |   bloom within one cache line
//	| data | -2            | seed, u24 number of blocks                       |   ribbon
//	+------+---------------+--------------------------------------------------+
//
// All others let everything pass, as filters of the future must.
const filterMeta = 5

// mayMatch is false only when the filter shows that it never took the key in. An empty filter took none.
func mayMatch(f, user []byte) bool {
	n := len(f) - filterMeta
	if n <= 0 {
		return false
	}
	data, meta := f[:n], f[n:]
	switch kind := int8(meta[0]); {
	case kind > 0:
		return legacyBloom(data, int(kind), binary.LittleEndian.Uint32(meta[1:]), user)
	case kind == -1 && meta[1] == 0 && meta[2]>>5 == 0 && meta[3] == 0 && meta[4] == 0:
		return localBloom(data, int(meta[2]&31), filterHash(user))
	case kind == -2:
		return ribbon(data, uint64(meta[1]), uint32(meta[2])|uint32(meta[3])<<8|uint32(meta[4])<<16, filterHash(user))
	}
	return true
}

// localBloom probes bits of the one 64-byte line that the hash's lower half chooses.
func localBloom(data []byte, probes int, hash uint64) bool {
	if probes < 1 || probes > 30 || len(data) < 64 {
		return true
	}
	line := uint64(uint32(hash)) * uint64(uint32(len(data)>>6)) >> 32
	data = data[line*64:]
	h := uint32(hash >> 32)
	for range probes {
		bit := h >> (32 - 9)
		if data[bit>>3]>>(bit&7)&1 == 0 {
			return false
		}
		h *= 0x9e3779b9
	}
	return true
}

// legacyBloom probes one line too; its size follows from their number.
func legacyBloom(data []byte, probes int, lines uint32, user []byte) bool {
	if lines == 0 || uint64(len(data))%uint64(lines) != 0 {
		return true
	}
	size := uint32(uint64(len(data)) / uint64(lines))
	if size&(size-1) != 0 {
		return true
	}
	h := legacyHash(user)
	data = data[uint64(h%lines)*uint64(size):]
	delta := bits.RotateLeft32(h, 15)
	for range probes {
		bit := uint64(h) & (uint64(size)*8 - 1)
		if data[bit>>3]>>(bit&7)&1 == 0 {
			return false
		}
		h += delta
	}
	return true
}
