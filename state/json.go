package state

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// maxJSON bounds the text of one value: the names of fields make it longer than the bytes that it is read from.
const maxJSON = 1 << 30

// full says that a value of many elements need not be read on: a fault stands, or it grew too long, which becomes one.
func full(dst []byte, r *javaio.Reader) bool {
	if len(dst) > maxJSON {
		r.Unsupported("a value longer than %d bytes of JSON", maxJSON)
	}
	return r.Err() != nil
}

const hexDigits = "0123456789abcdef"

// plain says which bytes stand for themselves inside a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendEscaped appends one ASCII character that is not plain.
func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// appendUnitEscape appends UTF-16 code unit u as \uXXXX: the form of a lone surrogate.
func appendUnitEscape(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&0xF], hexDigits[u>>4&0xF], hexDigits[u&0xF])
}

// appendQuoted appends WTF-8 text as a JSON string; bytes that are neither UTF-8 nor a lone surrogate become U+FFFD.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	return append(appendText(dst, s), '"')
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	for i := 0; i < len(s); {
		run := i
		for i < len(s) && plain[s[i]] {
			i++
		}
		dst = append(dst, s[run:i]...)
		if i == len(s) {
			break
		}
		if s[i] < utf8.RuneSelf {
			dst = appendEscaped(dst, s[i])
			i++
			continue
		}
		end := min(i+utf8.UTFMax, len(s))
		r, n := utf8.DecodeRuneInString(string(s[i:end])) // does not escape: no allocation
		switch u, lone := loneSurrogate(s[i:end]); {
		case lone:
			dst = appendUnitEscape(dst, u)
			n = 3
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// loneSurrogate reads a surrogate of three bytes at the start of s, as WTF-8 has it.
func loneSurrogate[T string | []byte](s T) (uint16, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint16(s[1]&0x3F)<<6 | uint16(s[2]&0x3F), true
}

// appendFloat appends the shortest number that reads back as f in the given width, always recognisable as a float.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs, format := math.Abs(f), byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

func appendBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func appendNull(dst []byte) []byte { return append(dst, "null"...) }

// isNull says whether a value is null or absent.
func isNull(b []byte) bool { return b == nil || jsonscan.IsNull(b) }

// appendRaw appends what stands for bytes that are not decoded.
func appendRaw(dst, b []byte, class, why string) []byte {
	dst = append(dst, `{"$raw":`...)
	dst = appendBase64(dst, b)
	dst = append(dst, `,"$type":`...)
	dst = appendQuoted(dst, class)
	dst = append(dst, `,"$why":`...)
	dst = appendQuoted(dst, why)
	return append(dst, '}')
}
