package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// Canonical JSON has no white space, so that its parts are found by scanning alone.

var errJSON = errors.New("not JSON")

// skipValue gives the end of the value that starts at i.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errJSON
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	if i == start {
		return 0, errJSON
	}
	return i, nil
}

// skipString looks at eight bytes at a time while none of them is a quote or a backslash.
func skipString(b []byte, i int) (int, error) {
	for i++; i < len(b); i++ {
		for ; i+8 <= len(b); i += 8 {
			w := binary.LittleEndian.Uint64(b[i:])
			if hit := zeroBytes(w^lowBits*'"') | zeroBytes(w^lowBits*'\\'); hit != 0 {
				i += bits.TrailingZeros64(hit) / 8
				break
			}
		}
		if i >= len(b) {
			break
		}
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, errJSON
}

func skipNested(b []byte, i int) (int, error) {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end, err := skipString(b, i)
			if err != nil {
				return 0, err
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, errJSON
}

// A members iterates over an object or an array. The name of an array's element is its position, as in f0.
type members struct {
	b    []byte
	at   int
	next int // the position of the next element
	err  error

	name  []byte // quoted, of an object's member; nil in an array
	value []byte
}

func membersOf(b []byte) members {
	if len(b) < 2 || b[0] != '{' && b[0] != '[' {
		return members{err: errJSON}
	}
	return members{b: b, at: 1}
}

// step moves to the next member; false at the end or at a fault, which err has.
func (m *members) step() bool {
	if m.err != nil || m.at >= len(m.b)-1 {
		return false
	}
	if m.next > 0 {
		if m.b[m.at] != ',' {
			m.err = errJSON
			return false
		}
		m.at++
	}
	m.next++
	if m.b[0] == '{' && !m.readName() {
		return false
	}
	end, err := skipValue(m.b, m.at)
	if err != nil || end > len(m.b)-1 {
		m.err = errJSON
		return false
	}
	m.value, m.at = m.b[m.at:end], end
	return true
}

func (m *members) readName() bool {
	if m.at >= len(m.b) || m.b[m.at] != '"' {
		m.err = errJSON
		return false
	}
	end, err := skipString(m.b, m.at)
	if err != nil || end >= len(m.b) || m.b[end] != ':' {
		m.err = errJSON
		return false
	}
	m.name, m.at = m.b[m.at:end], end+1
	return true
}

var nullJSON = []byte("null")

func isNull(b []byte) bool { return b == nil || bytes.Equal(b, nullJSON) }
