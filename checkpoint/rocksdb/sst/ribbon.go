package sst

import "math/bits"

// ribbon solves one linear equation: the key's 128 coefficients, from the slot that its hash chooses, times the columns stored there
// must give the key's result bits. Columns are stored as 16-byte segments, block of 128 slots after block; the first
// blocks have one column less than the others.
func ribbon(data []byte, seed uint64, blocks uint32, hash uint64) bool {
	segments := uint64(len(data) / 16)
	if blocks < 2 || segments == 0 {
		return true
	}
	columns := (segments + uint64(blocks) - 1) / uint64(blocks)
	short := columns*uint64(blocks) - segments // blocks with a column less
	if columns > 32 {
		columns, short = 32, 0
	}
	h := (hash ^ uint64(ribbonSeed(seed))) * 0x6193d459236a3a0d
	slot, _ := bits.Mul64(h, uint64(blocks)*128-127)
	block, bit := slot/128, uint(slot%128)
	at := block*columns - min(block, short)
	if block < short {
		columns--
	}
	mixed := h * 0xc28f82822b650bed
	want := uint32(bits.ReverseBytes64(mixed))
	lo, hi := mixed^0xc367844a6e52731d|1, mixed // the coefficients
	for i := range columns {
		got := parity(data, at+i, lo<<bit, shiftHigh(lo, hi, bit))
		if bit > 0 {
			rlo, rhi := shiftDown(lo, hi, 128-bit)
			got ^= parity(data, at+columns+i, rlo, rhi)
		}
		if got != want>>i&1 {
			return false
		}
	}
	return true
}

// ribbonSeed spreads the stored seed over 32 bits.
func ribbonSeed(seed uint64) uint32 {
	s := seed * 0xc78219a23eeadd03
	return uint32(s ^ s&0xf0f0f0f0f0f0f0f0>>4)
}

// shiftHigh is the upper half of hi:lo << n.
func shiftHigh(lo, hi uint64, n uint) uint64 {
	if n >= 64 {
		return lo << (n - 64)
	}
	return hi<<n | lo>>(64-n)
}

// shiftDown is hi:lo >> n.
func shiftDown(lo, hi uint64, n uint) (uint64, uint64) {
	if n >= 64 {
		return hi >> (n - 64), 0
	}
	return lo>>n | hi<<(64-n), hi >> n
}

// parity counts, modulo 2, the bits of a segment under a mask.
func parity(data []byte, segment, lo, hi uint64) uint32 {
	p := data[16*segment:]
	return uint32(bits.OnesCount64(le64(p)&lo^le64(p[8:])&hi)) & 1
}
