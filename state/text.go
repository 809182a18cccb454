package state

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/statebridge/statebridge/state/javaio"
)

// A Flink string is a varint of its length plus one, 0 for null, then each UTF-16 code unit as a varint of at most
// three bytes.

const (
	highBits = 0x8080808080808080
	lowBits  = 0x0101010101010101
)

// zeroBytes sets the high bit of each byte of w that is zero; of those above the lowest one also some that are not.
func zeroBytes(w uint64) uint64 { return (w - lowBits) &^ w & highBits }

// flinkStringLen reads the length in code units; -1 stands for null.
func flinkStringLen(r *javaio.Reader) int {
	n := r.Uvarint()
	switch {
	case r.Err() != nil:
		return -1
	case n > uint64(r.Len())+1: // a unit takes a byte at least
		if n > 1<<31 {
			r.Fail("string of %d characters", n)
			return -1
		}
		r.Take(int(n - 1)) // says what is missing
		return -1
	}
	return int(n) - 1
}

func skipFlinkString(r *javaio.Reader) {
	if n := flinkStringLen(r); n > 0 {
		r.Skip(unitsLen(r.Rest(), n))
	}
}

// flinkString reads a Flink string as WTF-8; null becomes "".
func flinkString(r *javaio.Reader) string {
	text := appendFlinkString(nil, r)
	if r.Err() != nil || isNull(text) {
		return ""
	}
	s, err := unquote(text)
	if err != nil {
		r.Fail("%v", err)
	}
	return string(s)
}

// unitsLen is the number of bytes that n units take; every unit ends with a byte below 0x80. More than len(b) when b is too short.
func unitsLen(b []byte, n int) int {
	i := 0
	for ; n >= 8 && i+8 <= len(b); i += 8 {
		n -= 8 - bits.OnesCount64(binary.LittleEndian.Uint64(b[i:])&highBits)
	}
	for ; n > 0 && i < len(b); i++ {
		if b[i] < 0x80 {
			n--
		}
	}
	return i + n
}

// appendFlinkString appends a Flink string as JSON.
func appendFlinkString(dst []byte, r *javaio.Reader) []byte {
	n := flinkStringLen(r)
	if n < 0 {
		return appendNull(dst)
	}
	return appendCounted(dst, r, n)
}

// appendCounted appends n code units as a JSON string; at least so many bytes are left.
func appendCounted(dst []byte, r *javaio.Reader, n int) []byte {
	dst = append(dst, '"')
	b := r.Rest()
	i := plainPrefix(b[:n])
	dst = append(dst, b[:i]...)
	r.Skip(i)
	if i < n {
		dst = appendUnits(dst, r, n-i)
	}
	return append(dst, '"')
}

// plainPrefix counts the leading bytes that stand for themselves in JSON, eight at a time while it can.
func plainPrefix(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		control := w - lowBits*0x20 // borrows where a byte is below 0x20
		if (w|control)&highBits|zeroBytes(w^lowBits*'"')|zeroBytes(w^lowBits*'\\') != 0 {
			break
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
}

// appendUnits appends n varint code units as the inside of a JSON string, joining surrogate pairs.
func appendUnits(dst []byte, r *javaio.Reader, n int) []byte {
	b, i := r.Rest(), 0
	var high uint16 // a high surrogate that waits for its other half
	for ; n > 0; n-- {
		if i >= len(b) {
			r.Skip(len(b) + n) // says what is missing
			return dst
		}
		u, size := unit(b[i:])
		if size == 0 {
			r.Skip(i)
			r.Fail("malformed character in a string")
			return dst
		}
		i += size
		dst, high = appendUnit(dst, high, u)
	}
	r.Skip(i)
	return flushUnit(dst, high)
}

// unit reads one varint code unit; size 0 when it is cut short or does not fit 16 bits.
func unit(b []byte) (u uint16, size int) {
	c := uint32(b[0])
	if c < 0x80 {
		return uint16(c), 1
	}
	v := c & 0x7F
	for i := 1; i < len(b) && i < 3; i++ {
		c = uint32(b[i])
		v |= (c & 0x7F) << (7 * i)
		if c < 0x80 {
			if v > 0xFFFF {
				return 0, 0
			}
			return uint16(v), i + 1
		}
	}
	return 0, 0
}

// appendUnit appends code unit u to the inside of a JSON string. A high surrogate is held back until the next unit
// shows whether it stands alone.
func appendUnit(dst []byte, high, u uint16) ([]byte, uint16) {
	if u < utf8.RuneSelf && high == 0 {
		if plain[u] {
			return append(dst, byte(u)), 0
		}
		return appendEscaped(dst, byte(u)), 0
	}
	if high != 0 {
		if u>>10 == 0xDC00>>10 {
			return utf8.AppendRune(dst, utf16.DecodeRune(rune(high), rune(u))), 0
		}
		return appendUnit(flushUnit(dst, high), 0, u)
	}
	switch u >> 10 {
	case 0xD800 >> 10:
		return dst, u
	case 0xDC00 >> 10:
		return appendUnitEscape(dst, u), 0
	}
	return utf8.AppendRune(dst, rune(u)), 0
}

func flushUnit(dst []byte, high uint16) []byte {
	if high == 0 {
		return dst
	}
	return appendUnitEscape(dst, high)
}

// encodeFlinkString encodes WTF-8 text as a Flink string.
func encodeFlinkString(dst, s []byte) []byte {
	n := 0
	eachUnit(s, func(uint16) { n++ })
	dst = binary.AppendUvarint(dst, uint64(n)+1)
	eachUnit(s, func(u uint16) { dst = binary.AppendUvarint(dst, uint64(u)) })
	return dst
}

// eachUnit calls f with every UTF-16 code unit of WTF-8 text.
func eachUnit(s []byte, f func(uint16)) {
	for len(s) > 0 {
		if u, lone := loneSurrogate(s); lone {
			f(u)
			s = s[3:]
			continue
		}
		r, n := utf8.DecodeRune(s)
		s = s[n:]
		if r >= 0x10000 {
			hi, lo := utf16.EncodeRune(r)
			f(uint16(hi))
			f(uint16(lo))
			continue
		}
		f(uint16(r))
	}
}

// hashUnits is java.lang.String.hashCode of WTF-8 text.
func hashUnits(s []byte) int32 {
	h := int32(0)
	eachUnit(s, func(u uint16) { h = 31*h + int32(u) })
	return h
}
