package state

import "github.com/statebridge/statebridge/state/javaio"

// A Kryo string is either ASCII whose last character has bit 7 set, or a length in code units plus one (6 bits, then 7 a
// byte) and each unit in one to three bytes as modified UTF-8 has them.

// string appends a string as WTF-8; null is told apart from empty.
func (k *kryoReader) string(dst []byte) (s []byte, null bool) {
	b := k.Rest()
	if len(b) == 0 {
		k.Take(1)
		return dst, true
	}
	if b[0]&0x80 == 0 {
		return k.ascii(dst), false
	}
	n := k.flaggedVarint()
	if n == 0 {
		return dst, true
	}
	return k.utf(dst, k.count(n-1)), false
}

func (k *kryoReader) ascii(dst []byte) []byte {
	b := k.Rest()
	for i, c := range b {
		if c&0x80 != 0 {
			dst = append(append(dst, b[:i]...), c&0x7F)
			k.Skip(i + 1)
			return dst
		}
	}
	k.Take(len(b) + 1) // says that bytes are missing
	return dst
}

// flaggedVarint reads a number whose first byte has a flag in bit 7 and 6 bits of the number.
func (k *kryoReader) flaggedVarint() int {
	b := k.Uint8()
	v, shift := int(b&0x3F), 6
	for more := b&0x40 != 0; more; shift += 7 {
		b = k.Uint8()
		if shift > 27 {
			k.Fail("number longer than 32 bits")
			return 0
		}
		v |= int(b&0x7F) << shift
		more = b&0x80 != 0
	}
	return v
}

func (k *kryoReader) utf(dst []byte, units int) []byte {
	for range units {
		c := k.Uint8()
		u := uint16(c)
		switch c >> 4 {
		case 0, 1, 2, 3, 4, 5, 6, 7:
		case 12, 13:
			u = uint16(c&0x1F)<<6 | uint16(k.Uint8()&0x3F)
		case 14:
			u = uint16(c&0x0F)<<12 | uint16(k.Uint8()&0x3F)<<6
			u |= uint16(k.Uint8() & 0x3F)
		default:
			k.Fail("malformed character in a string")
		}
		if k.Err() != nil {
			return dst
		}
		dst = javaio.AppendUTF16(dst, u)
	}
	return dst
}

func readKryoString(k *kryoReader, dst []byte, _ *kryoType) []byte {
	s, null := k.string(k.text[:0])
	k.text = s
	if null {
		return appendNull(dst)
	}
	return appendQuoted(dst, s)
}

// varlong reads at most nine bytes, of which the ninth has eight bits.
func (k *kryoReader) varlong() uint64 {
	v := uint64(0)
	for shift := 0; shift < 56; shift += 7 {
		b := k.Uint8()
		v |= uint64(b&0x7F) << shift
		if b&0x80 == 0 {
			return v
		}
	}
	return v | uint64(k.Uint8())<<56
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// zigzagInt reads an int.
func (k *kryoReader) zigzagInt() int32 { return int32(unzigzag(uint64(uint32(k.varint())))) }
