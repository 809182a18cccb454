package javaio

import "unicode/utf8"

// AppendUTF16 appends UTF-16 code unit u to dst as WTF-8: a high surrogate that stands at the end of dst and a low one
// that follows become one character of four bytes, a lone one keeps three.
func AppendUTF16(dst []byte, u uint16) []byte {
	switch {
	case u < 0x80:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
	case u >= 0xDC00 && u <= 0xDFFF && endsInHighSurrogate(dst):
		n := len(dst) - 3
		hi := rune(dst[n+1]&0x0F)<<6 | rune(dst[n+2]&0x3F)
		return utf8.AppendRune(dst[:n], 0x10000+hi<<10+rune(u-0xDC00))
	}
	return append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
}

// endsInHighSurrogate looks for ED A0..AF 80..BF, the three bytes of U+D800 to U+DBFF.
func endsInHighSurrogate(b []byte) bool {
	n := len(b)
	return n >= 3 && b[n-3] == 0xED && b[n-2] >= 0xA0 && b[n-2] <= 0xAF && b[n-1]&0xC0 == 0x80
}

// AppendModifiedUTF8 appends modified UTF-8 (NUL as C0 80, supplementary characters as two surrogates of three bytes)
// to dst as WTF-8, and says whether src was well formed.
func AppendModifiedUTF8(dst, src []byte) ([]byte, bool) {
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c < 0x80:
			dst = append(dst, c)
			i++
		case c>>5 == 0b110 && i+1 < len(src) && src[i+1]>>6 == 0b10:
			dst = AppendUTF16(dst, uint16(c&0x1F)<<6|uint16(src[i+1]&0x3F))
			i += 2
		case c>>4 == 0b1110 && i+2 < len(src) && src[i+1]>>6 == 0b10 && src[i+2]>>6 == 0b10:
			dst = AppendUTF16(dst, uint16(c&0x0F)<<12|uint16(src[i+1]&0x3F)<<6|uint16(src[i+2]&0x3F))
			i += 3
		default:
			return dst, false
		}
	}
	return dst, true
}
