package jsonscan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrSyntax marks text that is not the JSON that was expected.
var ErrSyntax = errors.New("malformed JSON")

// maxDepth bounds how deep values nest; it is that of encoding/json.
const maxDepth = 10000

// SyntaxError says where text stops being the JSON that was expected. It unwraps to ErrSyntax.
type SyntaxError struct {
	Offset int // into the text that was scanned
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrSyntax, e.Offset, e.Reason)
}

// Unwrap gives ErrSyntax.
func (e *SyntaxError) Unwrap() error { return ErrSyntax }

func fail(at int, reason string) error { return &SyntaxError{at, reason} }

// Space gives the place of the first byte from b[at] on that is no white space.
func Space(b []byte, at int) int {
	for at < len(b) && b[at] <= ' ' && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// ValueEnd checks the value at b[at] and says where it ends.
func ValueEnd(b []byte, at int) (end int, err error) { return valueEnd(b, at, 0) }

func valueEnd(b []byte, at, depth int) (int, error) {
	if at >= len(b) {
		return 0, fail(at, "a value is missing")
	}
	switch b[at] {
	case '"':
		return StringEnd(b, at)
	case '{', '[':
		return nestedEnd(b, at, depth+1)
	}
	end := at
	for end < len(b) && !delimiter[b[end]] {
		end++
	}
	if !isScalar(b[at:end]) {
		return 0, fail(at, "no value")
	}
	return end, nil
}

// delimiter marks the bytes that end a number or a word.
var delimiter = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, ',': true, '}': true, ']': true}

func isScalar(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return IsNumber(b)
}

// IsNull says whether a value that was scanned is null.
func IsNull(value []byte) bool { return string(value) == "null" }

// IsNumber checks the grammar of numbers: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func IsNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	if n == len(b) {
		return true
	}
	if b = b[n:]; b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if n = digits(b); n == 0 {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// StringEnd checks the string whose opening quote is b[at] and says where it ends.
func StringEnd(b []byte, at int) (end int, err error) {
	for i := at + 1; ; {
		if i = plainEnd(b, i); i >= len(b) {
			return 0, fail(at, "a string does not end")
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return 0, fail(i, "an unknown escape")
			}
			i += n
		default:
			return 0, fail(i, "a control character inside a string")
		}
	}
}

const (
	highBits = 0x8080808080808080
	lowBits  = 0x0101010101010101
)

// plainEnd gives the place of the first byte from b[i] on that does not stand for itself in a string. It looks at eight bytes at a time:
// each of the three tests sets the high bit of a byte that it seeks, and of others only above the first.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, escape := w^lowBits*'"', w^lowBits*'\\'
		hit := ((quote-lowBits)&^quote | (escape-lowBits)&^escape | (w-lowBits*' ')&^w) & highBits
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// nestedEnd checks the object or array at b[at].
func nestedEnd(b []byte, at, depth int) (end int, err error) {
	if depth > maxDepth {
		return 0, fail(at, "values nest too deep")
	}
	object := b[at] == '{'
	closing := b[at] + 2 // as ASCII has the brackets
	i := Space(b, at+1)
	if i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		if object {
			if i, err = nameEnd(b, i); err != nil {
				return 0, err
			}
			i = Space(b, i)
		}
		if i, err = valueEnd(b, i, depth); err != nil {
			return 0, err
		}
		if i = Space(b, i); i >= len(b) {
			return 0, fail(at, "an object or array does not end")
		}
		switch b[i] {
		case ',':
			i = Space(b, i+1)
		case closing:
			return i + 1, nil
		default:
			return 0, fail(i, "no comma")
		}
	}
}

// nameEnd checks the name of a member and its colon, and says where this ends.
func nameEnd(b []byte, at int) (end int, err error) {
	if at >= len(b) || b[at] != '"' {
		return 0, fail(at, "a member's name is missing")
	}
	if end, err = StringEnd(b, at); err != nil {
		return 0, err
	}
	if end = Space(b, end); end >= len(b) || b[end] != ':' {
		return 0, fail(end, "a colon is missing")
	}
	return end + 1, nil
}
