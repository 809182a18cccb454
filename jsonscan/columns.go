package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Columns finds the values of known columns in flat objects. It is not safe for concurrent use.
type Columns struct {
	names  []string
	quoted [][]byte       // the names as they mostly stand in a row, colon included; rows mostly come in this order
	index  map[string]int // where a column is when a row has another order or another spelling
	values [][]byte
	seen   []bool
	name   []byte
}

// NewColumns makes Columns of these names.
func NewColumns(names []string) *Columns {
	c := &Columns{names: names, index: make(map[string]int, len(names)), values: make([][]byte, len(names)), seen: make([]bool, len(names))}
	for i, name := range names {
		c.quoted = append(c.quoted, append(AppendQuoted(nil, name), ':'))
		c.index[name] = i
	}
	return c
}

// AppendQuoted appends s as a JSON string, with no more escapes than it needs.
func AppendQuoted(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// Scan gives the value of each column in the order of the names, nil where it is null or absent. The values alias object, and the slice is
// valid until the next Scan. A member that is no column, or that stands twice, is an error: nothing is dropped in silence.
func (c *Columns) Scan(object []byte) ([][]byte, error) {
	clear(c.values)
	clear(c.seen)
	at := Space(object, 0)
	if at >= len(object) || object[at] != '{' {
		return nil, fail(at, "no object")
	}
	at = Space(object, at+1)
	if at < len(object) && object[at] == '}' {
		return c.values, nothingFollows(object, at+1)
	}
	for column := -1; ; {
		var err error
		if column, at, err = c.member(object, at, column+1); err != nil {
			return nil, err
		}
		if at = Space(object, at); at >= len(object) {
			return nil, fail(at, "it ends inside the object")
		}
		switch object[at] {
		case ',':
			at = Space(object, at+1)
		case '}':
			return c.values, nothingFollows(object, at+1)
		default:
			return nil, fail(at, "no comma")
		}
	}
}

func nothingFollows(object []byte, at int) error {
	if at = Space(object, at); at != len(object) {
		return fail(at, "bytes follow the object")
	}
	return nil
}

// member reads name, colon and value; guess is the column that is likely next.
func (c *Columns) member(object []byte, at, guess int) (column, end int, err error) {
	column, at, err = c.column(object, at, guess)
	if err != nil {
		return 0, 0, err
	}
	if c.seen[column] {
		return 0, 0, fail(at, fmt.Sprintf("column %q stands twice", c.names[column]))
	}
	c.seen[column] = true
	start := Space(object, at)
	if end, err = ValueEnd(object, start); err != nil {
		return 0, 0, fmt.Errorf("column %q: %w", c.names[column], err)
	}
	if v := object[start:end]; v[0] != 'n' {
		c.values[column] = v
	}
	return column, end, nil
}

// column reads a name and its colon.
func (c *Columns) column(object []byte, at, guess int) (column, end int, err error) {
	if guess < len(c.quoted) && bytes.HasPrefix(object[at:], c.quoted[guess]) {
		return guess, at + len(c.quoted[guess]), nil
	}
	if end, err = nameEnd(object, at); err != nil {
		return 0, 0, err
	}
	c.name, _ = AppendText(c.name[:0], quotedName(object[at:end]))
	column, ok := c.index[string(c.name)]
	if !ok {
		return 0, 0, fail(at, fmt.Sprintf("member %q is no column", c.name))
	}
	return column, end, nil
}
