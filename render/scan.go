package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed marks a row that is not a flat JSON object of the columns it was announced with.
var ErrMalformed = errors.New("malformed row")

var errClosed = errors.New("the output is closed")

// scanner finds the values of known columns in a row without allocating. Columns are first looked for in the order they came in last.
type scanner struct {
	columns []Column
	quoted  [][]byte       // column names as a canonical row has them, colon included
	index   map[string]int // where a column is when the row has another order or another spelling
	values  [][]byte
	seen    []bool
	name    []byte
	row     int64 // the row at hand, from 1
}

func newScanner(columns []Column) *scanner {
	s := &scanner{columns: columns, index: make(map[string]int, len(columns)), values: make([][]byte, len(columns)), seen: make([]bool, len(columns))}
	for i, c := range columns {
		s.quoted = append(s.quoted, append(appendQuoted(nil, c.Name), ':'))
		s.index[c.Name] = i
	}
	return s
}

// scan gives the JSON value of each column, nil where it is null or absent. The values alias row; the slice is valid until the next scan.
func (s *scanner) scan(row []byte) ([][]byte, error) {
	s.row++
	values, err := s.object(row)
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", s.row, err)
	}
	return values, nil
}

func (s *scanner) object(row []byte) ([][]byte, error) {
	clear(s.values)
	clear(s.seen)
	if !utf8.Valid(row) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrMalformed)
	}
	at := space(row, 0)
	if at >= len(row) || row[at] != '{' {
		return nil, fmt.Errorf("%w: no object", ErrMalformed)
	}
	at = space(row, at+1)
	if at < len(row) && row[at] == '}' {
		return s.values, s.end(row, at+1)
	}
	for column := -1; ; {
		var err error
		if column, at, err = s.member(row, at, column+1); err != nil {
			return nil, err
		}
		if at = space(row, at); at >= len(row) {
			return nil, fmt.Errorf("%w: it ends inside the object", ErrMalformed)
		}
		switch row[at] {
		case ',':
			at = space(row, at+1)
		case '}':
			return s.values, s.end(row, at+1)
		default:
			return nil, fmt.Errorf("%w: no comma at byte %d", ErrMalformed, at)
		}
	}
}

func (s *scanner) end(row []byte, at int) error {
	if space(row, at) != len(row) {
		return fmt.Errorf("%w: bytes follow the object", ErrMalformed)
	}
	return nil
}

// member reads name, colon and value; guess is the column that is likely next.
func (s *scanner) member(row []byte, at, guess int) (column, end int, err error) {
	column, at, err = s.memberName(row, at, guess)
	if err != nil {
		return 0, 0, err
	}
	if s.seen[column] {
		return 0, 0, fmt.Errorf("%w: column %q stands twice", ErrMalformed, s.columns[column].Name)
	}
	s.seen[column] = true
	start := space(row, at)
	if end, err = valueEnd(row, start); err != nil {
		return 0, 0, fmt.Errorf("column %q: %w", s.columns[column].Name, err)
	}
	if v := row[start:end]; v[0] != 'n' {
		s.values[column] = v
	}
	return column, end, nil
}

func (s *scanner) memberName(row []byte, at, guess int) (column, next int, err error) {
	if guess < len(s.quoted) && bytes.HasPrefix(row[at:], s.quoted[guess]) {
		return guess, at + len(s.quoted[guess]), nil
	}
	if at >= len(row) || row[at] != '"' {
		return 0, 0, fmt.Errorf("%w: no name at byte %d", ErrMalformed, at)
	}
	end, err := stringEnd(row, at)
	if err != nil {
		return 0, 0, err
	}
	s.name, _ = appendString(s.name[:0], row[at:end])
	column, ok := s.index[string(s.name)]
	if !ok {
		return 0, 0, fmt.Errorf("%w: member %q is no column", ErrMalformed, s.name)
	}
	if end = space(row, end); end >= len(row) || row[end] != ':' {
		return 0, 0, fmt.Errorf("%w: no colon at byte %d", ErrMalformed, end)
	}
	return column, end + 1, nil
}

func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// valueEnd checks the JSON value at b[at] and says where it ends.
func valueEnd(b []byte, at int) (int, error) {
	if at >= len(b) {
		return 0, fmt.Errorf("%w: a value is missing", ErrMalformed)
	}
	switch b[at] {
	case '"':
		return stringEnd(b, at)
	case '{', '[':
		return nestedEnd(b, at)
	}
	end := at
	for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] > ' ' {
		end++
	}
	if !isScalar(b[at:end]) {
		return 0, fmt.Errorf("%w: no JSON value at byte %d", ErrMalformed, at)
	}
	return end, nil
}

func isScalar(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return isNumber(b)
}

// isNumber checks the grammar of JSON numbers: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
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

// digits counts the leading decimal digits.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// stringEnd checks the string at b[at] and says where it ends.
func stringEnd(b []byte, at int) (int, error) {
	for i := at + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < ' ':
			return 0, fmt.Errorf("%w: a control character inside a string at byte %d", ErrMalformed, i)
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return 0, fmt.Errorf("%w: an unknown escape at byte %d", ErrMalformed, i)
			}
			i += n - 1
		}
	}
	return 0, fmt.Errorf("%w: a string does not end", ErrMalformed)
}

// nestedEnd finds the bracket that closes b[at]; what lies between is checked by encoding/json, which also bounds the depth.
func nestedEnd(b []byte, at int) (int, error) {
	for depth, i := 0, at; i < len(b); i++ {
		switch b[i] {
		case '"':
			end, err := stringEnd(b, i)
			if err != nil {
				return 0, err
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth > 0 {
				continue
			}
			if !json.Valid(b[at : i+1]) {
				return 0, fmt.Errorf("%w: no JSON value at byte %d", ErrMalformed, at)
			}
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("%w: a nested value does not end", ErrMalformed)
}
