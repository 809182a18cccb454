package stream

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/statebridge/statebridge/fault"
)

// parsed is one change line. Its bytes alias the line.
type parsed struct {
	Change
	object []byte // the member "object", raw; nil when the change is inline
}

// parseLine reads a change line. It looks at the structure only: strings, brackets and its own members; the rows inside are checked by whoever decodes them.
// Members may have any order, and those it doesn't know are passed over.
func parseLine(b []byte) (parsed, error) {
	s := scanner{b: b}
	var p parsed
	for name := range s.members() {
		switch string(name) {
		case "op":
			if v := s.value(); len(v) == 3 && v[0] == '"' {
				p.Op = v[1]
			}
		case "key":
			p.Key = s.nullable()
		case "before":
			p.Before = s.nullable()
		case "after":
			p.After = s.nullable()
		case "object":
			p.object = s.nullable()
		case "source":
			for name := range s.members() {
				if string(name) == "seq" {
					p.Seq = s.uint()
				} else {
					s.value()
				}
			}
		default:
			s.value()
		}
	}
	if s.space(); s.err == nil && s.at != len(b) {
		s.fail("bytes after the object")
	}
	if s.err == nil && (p.Op == 0 || p.Seq == 0) {
		s.fail("no change: op or source.seq is missing")
	}
	return p, s.err
}

// scanner walks over JSON text; the first fault sticks.
type scanner struct {
	b   []byte
	at  int
	err error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fault.Corrupt("change line", int64(s.at), format, args...)
	}
}

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\t' || s.b[s.at] == '\r' || s.b[s.at] == '\n') {
		s.at++
	}
}

// peek gives the next byte behind white space, 0 at the end or after a fault.
func (s *scanner) peek() byte {
	s.space()
	if s.err != nil || s.at >= len(s.b) {
		return 0
	}
	return s.b[s.at]
}

func (s *scanner) expect(c byte) bool {
	if got := s.peek(); got != c {
		s.fail("%q wanted", c)
		return false
	}
	s.at++
	return true
}

// members ranges over the names of an object; the loop's body consumes each value.
func (s *scanner) members() func(yield func(name []byte) bool) {
	return func(yield func([]byte) bool) {
		if !s.expect('{') {
			return
		}
		if s.peek() == '}' {
			s.at++
			return
		}
		for {
			if s.peek() != '"' {
				s.fail("a member's name wanted")
				return
			}
			name := s.value()
			if !s.expect(':') || !yield(name[1:len(name)-1]) || s.err != nil {
				return
			}
			if s.peek() != ',' {
				s.expect('}')
				return
			}
			s.at++
		}
	}
}

// value passes over one value of any kind and gives its bytes; nil after a fault.
func (s *scanner) value() []byte {
	c, start := s.peek(), s.at
	switch c {
	case '"':
		s.str()
	case '{', '[':
		s.nested()
	case 0, ',', ':', '}', ']':
		s.fail("a value wanted")
	default:
		for s.at < len(s.b) && !ends(s.b[s.at]) {
			s.at++
		}
	}
	if s.err != nil {
		return nil
	}
	return s.b[start:s.at]
}

func ends(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"' || c == ':' || c == '{' || c == '['
}

// str passes over a string, at its opening quote.
func (s *scanner) str() {
	for from := s.at + 1; ; {
		i := bytes.IndexByte(s.b[from:], '"')
		if i < 0 {
			s.fail("a string does not end")
			return
		}
		end := from + i
		escapes := 0
		for end-escapes-1 > s.at && s.b[end-escapes-1] == '\\' {
			escapes++
		}
		if from = end + 1; escapes%2 == 0 {
			s.at = from
			return
		}
	}
}

// nested passes over an object or array, at its opening bracket.
func (s *scanner) nested() {
	depth := 0
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case '"':
			if s.str(); s.err != nil {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.at++; depth == 0 {
			return
		}
	}
	s.fail("an object or array does not end")
}

// nullable gives an object's bytes, or nil for null.
func (s *scanner) nullable() []byte {
	switch v := s.value(); {
	case v == nil || string(v) == "null":
		return nil
	case v[0] != '{':
		s.fail("an object or null wanted")
		return nil
	default:
		return v
	}
}

func (s *scanner) uint() (n uint64) {
	v := s.value()
	if len(v) == 0 || len(v) > 19 {
		s.fail("a number of 1 to 19 digits wanted")
		return 0
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			s.fail("a number wanted")
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// objectRef is the member "object": where a change lies that is larger than a message.
type objectRef struct {
	Bucket string `json:"bucket"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
}

const maxObject = 1 << 31 // values in a state have a signed 32-bit length

func parseObjectRef(b []byte) (objectRef, error) {
	var o objectRef
	if err := json.Unmarshal(b, &o); err != nil {
		return o, fmt.Errorf("object reference: %w", err)
	}
	if o.Name == "" || o.Size <= 0 || o.Size > 3*maxObject {
		return o, fmt.Errorf("object reference %q of %d bytes", o.Name, o.Size)
	}
	return o, nil
}
