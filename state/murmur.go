package state

import (
	"encoding/binary"
	"math/bits"
)

// murmur128 is MurmurHash3 x64 128 with seed 0.
func murmur128(b []byte) (out [16]byte) {
	const c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	var h1, h2 uint64
	n := uint64(len(b))
	for ; len(b) >= 16; b = b[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(b))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52DCE729
		h2 ^= mix2(binary.LittleEndian.Uint64(b[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495AB5
	}
	var tail [16]byte
	copy(tail[:], b)
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:])) ^ n
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:])) ^ n
	h1 += h2
	h2 += h1
	h1, h2 = finalMix(h1), finalMix(h2)
	h1 += h2
	h2 += h1
	binary.LittleEndian.PutUint64(out[:], h1)
	binary.LittleEndian.PutUint64(out[8:], h2)
	return out
}

func finalMix(k uint64) uint64 {
	k = (k ^ k>>33) * 0xFF51AFD7ED558CCD
	k = (k ^ k>>33) * 0xC4CEB9FE1A85EC53
	return k ^ k>>33
}
