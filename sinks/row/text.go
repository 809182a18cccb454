package row

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrSurrogate marks a string with half a surrogate pair: Java holds such text, UTF-8 can't.
var ErrSurrogate = errors.New("the text holds a lone surrogate, which UTF-8 can't encode")

// IsString tells whether a value is a JSON string.
func IsString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// AppendText appends what a value says: the characters of a string, the bytes of anything else.
func AppendText(dst, value []byte) ([]byte, error) {
	if !IsString(value) {
		return append(dst, value...), nil
	}
	if len(value) < 2 || value[len(value)-1] != '"' {
		return dst, fmt.Errorf("%w: a string does not end", ErrMalformed)
	}
	b := value[1 : len(value)-1]
	for {
		escape := bytes.IndexByte(b, '\\')
		if escape < 0 {
			return append(dst, b...), nil
		}
		dst = append(dst, b[:escape]...)
		n, err := 0, error(nil)
		if dst, n, err = appendEscape(dst, b[escape:]); err != nil {
			return dst, err
		}
		b = b[escape+n:]
	}
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendEscape decodes the escape that b starts with and says how long it is.
func appendEscape(dst, b []byte) ([]byte, int, error) {
	if len(b) >= 2 && escapes[b[1]] != 0 {
		return append(dst, escapes[b[1]]), 2, nil
	}
	high, ok := unicodeEscape(b)
	if !ok {
		return dst, 0, fmt.Errorf("%w: an unknown escape", ErrMalformed)
	}
	if !utf16.IsSurrogate(high) {
		return utf8.AppendRune(dst, high), 6, nil
	}
	low, ok := unicodeEscape(b[6:])
	if r := utf16.DecodeRune(high, low); ok && r != utf8.RuneError {
		return utf8.AppendRune(dst, r), 12, nil
	}
	return dst, 0, ErrSurrogate
}

func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(v), err == nil
}

// AppendBytes appends what a base64 string stands for.
func AppendBytes(dst, value []byte) ([]byte, error) {
	if !IsString(value) || len(value) < 2 {
		return dst, fmt.Errorf("%w: bytes are no string", ErrMalformed)
	}
	b, err := base64.StdEncoding.AppendDecode(dst, value[1:len(value)-1])
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return b, nil
}
