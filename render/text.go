package render

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// appendQuoted appends s as a canonical JSON string.
func appendQuoted(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

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

// appendString appends the characters of a JSON string that stringEnd found well formed. A lone surrogate, which UTF-8 can't encode, stays
// \uXXXX and makes the text inexact.
func appendString(dst, quoted []byte) (text []byte, exact bool) {
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

// hasLoneSurrogate looks into all strings of a value that is well formed.
func hasLoneSurrogate(value []byte) bool {
	for {
		escape := bytes.IndexByte(value, '\\')
		if escape < 0 {
			return false
		}
		value = value[escape:]
		n := 2
		if value[1] == 'u' {
			if _, n = escapedRune(value); n == 0 {
				return true
			}
		}
		value = value[n:]
	}
}

// appendPlain appends what a value says to a person: a string without its quotes, anything else as it is. A string in a json column
// keeps its quotes where it would read as another JSON value without them (the text "1" beside the number 1) or holds a lone surrogate.
func appendPlain(dst, value []byte, k kind) []byte {
	if value[0] != '"' {
		return append(dst, value...)
	}
	start := len(dst)
	dst, exact := appendString(dst, value)
	if k == jsonKind && (!exact || readsAsJSON(dst[start:])) {
		return append(dst[:start], value...)
	}
	return dst
}

func readsAsJSON(text []byte) bool {
	text = text[space(text, 0):]
	if len(text) == 0 {
		return false
	}
	switch c := text[0]; {
	case c == '{', c == '[', c == '"', c == '-', c >= '0' && c <= '9', c == 't', c == 'f', c == 'n':
		return json.Valid(text)
	}
	return false
}
