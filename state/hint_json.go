package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
)

var errJSON = errors.New("not JSON")

// maxJSONDepth bounds how deep foreign JSON nests.
const maxJSONDepth = 1000

// appendCanonical rewrites JSON: no white space, members by name, strings in one form. Numbers stay as they are written, since a
// rounded one would be another value.
func appendCanonical(dst, b []byte) ([]byte, error) {
	if !utf8.Valid(b) || !json.Valid(b) {
		return dst, errJSON
	}
	c := canonicalizer{b: b}
	start := len(dst)
	dst, err := c.value(dst)
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// A canonicalizer reads text that is known to be valid.
type canonicalizer struct {
	b     []byte
	i     int
	depth int
}

func (c *canonicalizer) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\n' || c.b[c.i] == '\r' || c.b[c.i] == '\t') {
		c.i++
	}
}

func (c *canonicalizer) value(dst []byte) ([]byte, error) {
	c.space()
	switch c.b[c.i] {
	case '{', '[':
		return c.nested(dst)
	case '"':
		return c.string(dst)
	}
	start := c.i
	for c.i < len(c.b) && !delimiter(c.b[c.i]) {
		c.i++
	}
	return append(dst, c.b[start:c.i]...), nil
}

// delimiter says whether a byte ends a number or a word.
func delimiter(b byte) bool { return b <= ' ' || b == ',' || b == '}' || b == ']' }

func (c *canonicalizer) string(dst []byte) ([]byte, error) {
	end, err := jsonscan.StringEnd(c.b, c.i)
	if err != nil {
		return dst, err
	}
	text, err := unquote(c.b[c.i:end])
	if err != nil {
		return dst, err
	}
	c.i = end
	return appendQuoted(dst, text), nil
}

func (c *canonicalizer) nested(dst []byte) ([]byte, error) {
	if c.depth++; c.depth > maxJSONDepth {
		return dst, fmt.Errorf("nests deeper than %d", maxJSONDepth)
	}
	defer func() { c.depth-- }()
	if c.b[c.i] == '{' {
		return c.object(dst)
	}
	return c.array(dst)
}

// more steps over a bracket or comma, and says whether an element follows.
func (c *canonicalizer) more(end byte) bool {
	c.space()
	if c.b[c.i] == ',' {
		c.i++
		c.space()
	}
	if c.b[c.i] == end {
		c.i++
		return false
	}
	return true
}

func (c *canonicalizer) array(dst []byte) (_ []byte, err error) {
	dst = append(dst, '[')
	start := len(dst)
	for c.i++; c.more(']'); {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		if dst, err = c.value(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (c *canonicalizer) object(dst []byte) (_ []byte, err error) {
	b, names := newBag(dst), map[string]bool{}
	for c.i++; c.more('}'); {
		at := len(dst)
		if dst, err = c.string(dst); err != nil {
			return dst, err
		}
		name := string(dst[at:])
		if names[name] {
			return dst, errors.New("member " + name + " stands there twice")
		}
		names[name] = true
		b.key(dst)
		c.space()
		c.i++ // the colon
		if dst, err = c.value(dst); err != nil {
			return dst, err
		}
		dst = b.value(dst)
	}
	return b.finish(dst, objectShape), nil
}
