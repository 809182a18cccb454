package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escapeLen is the length of the escape that b starts with, 0 when there is no such escape.
func escapeLen(b []byte) int {
	if len(b) >= 2 && escapes[b[1]] != 0 {
		return 2
	}
	if _, ok := unicodeEscape(b); ok {
		return 6
	}
	return 0
}

func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// AppendText appends the characters of a string that was scanned. A lone surrogate, which Java's strings may hold and UTF-8 can't encode,
// stays \uXXXX and makes the text inexact.
func AppendText(dst, quoted []byte) (text []byte, exact bool) {
	exact = true
	for b := quoted[1 : len(quoted)-1]; ; {
		escape := bytes.IndexByte(b, '\\')
		if escape < 0 {
			return append(dst, b...), exact
		}
		dst = append(dst, b[:escape]...)
		b = b[escape:]
		if plain := escapes[b[1]]; plain != 0 {
			dst, b = append(dst, plain), b[2:]
			continue
		}
		r, n := escapedRune(b)
		if n == 0 {
			dst, b, exact = append(dst, b[:6]...), b[6:], false
			continue
		}
		dst, b = utf8.AppendRune(dst, r), b[n:]
	}
}

// escapedRune reads \uXXXX or a pair of them; length 0 stands for a lone surrogate.
func escapedRune(b []byte) (r rune, length int) {
	high, _ := unicodeEscape(b)
	if !utf16.IsSurrogate(high) {
		return high, 6
	}
	low, ok := unicodeEscape(b[6:])
	if r := utf16.DecodeRune(high, low); ok && r != utf8.RuneError {
		return r, 12
	}
	return utf8.RuneError, 0
}

// HasLoneSurrogate looks into all strings of a value that was scanned.
func HasLoneSurrogate(value []byte) bool { return findEscape(value, isLone) >= 0 }

// HasNUL looks into all strings of a value that was scanned.
func HasNUL(value []byte) bool { return findEscape(value, isNUL) >= 0 }

// AppendReplaced appends a value that was scanned with U+FFFD, the replacement character, for each NUL and each lone surrogate in its strings.
func AppendReplaced(dst, value []byte) []byte {
	for {
		at := findEscape(value, func(b []byte) bool { return isNUL(b) || isLone(b) })
		if at < 0 {
			return append(dst, value...)
		}
		dst = append(append(dst, value[:at]...), `\ufffd`...)
		value = value[at+6:]
	}
}

// findEscape gives the place of the first \uXXXX that is sought, -1 when there is none.
func findEscape(value []byte, sought func([]byte) bool) int {
	for at := 0; ; {
		escape := bytes.IndexByte(value[at:], '\\')
		if escape < 0 {
			return -1
		}
		if at += escape; value[at+1] != 'u' {
			at += 2
			continue
		}
		if sought(value[at:]) {
			return at
		}
		_, n := escapedRune(value[at:])
		at += max(n, 6)
	}
}

func isLone(escape []byte) bool {
	_, n := escapedRune(escape)
	return n == 0
}

func isNUL(escape []byte) bool {
	r, n := escapedRune(escape)
	return r == 0 && n == 6
}
