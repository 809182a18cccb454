package row

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/stream"
)

// ErrMalformed marks a row that is not a flat JSON object of the columns it was announced with.
var ErrMalformed = errors.New("malformed row")

// Scanner reads rows of fixed columns. It is not safe for concurrent use.
type Scanner struct {
	quoted [][]byte       // column names as they stand in a row, colon included; rows mostly come in this order
	index  map[string]int // and where a column is when they do not
	values [][]byte
}

// NewScanner makes a Scanner of columns.
func NewScanner(columns []stream.Column) *Scanner {
	s := &Scanner{index: make(map[string]int, len(columns)), values: make([][]byte, len(columns))}
	for i, c := range columns {
		s.quoted = append(s.quoted, append(quote(c.Name), ':'))
		s.index[c.Name] = i
	}
	return s
}

func quote(name string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(name) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Scan gives the JSON value of each column in the order of the columns, nil where it is null or absent.
// The values alias object and the slice is valid until the next Scan. A member that is no column is an error: nothing is dropped in silence.
func (s *Scanner) Scan(object []byte) ([][]byte, error) {
	clear(s.values)
	if len(object) < 2 || object[0] != '{' {
		return nil, fmt.Errorf("%w: no object", ErrMalformed)
	}
	at := space(object, 1)
	if at < len(object) && object[at] == '}' && space(object, at+1) == len(object) {
		return s.values, nil
	}
	for guess := 0; ; guess++ {
		i, next, err := s.name(object, space(object, at), guess)
		if err != nil {
			return nil, err
		}
		start := space(object, next)
		end, err := skip(object, start)
		if err != nil {
			return nil, err
		}
		if v := object[start:end]; v[0] != 'n' {
			s.values[i] = v
		}
		guess, at = i, space(object, end)
		if at >= len(object) {
			return nil, fmt.Errorf("%w: it ends inside", ErrMalformed)
		}
		switch object[at] {
		case ',':
			at++
		case '}':
			if space(object, at+1) != len(object) {
				return nil, fmt.Errorf("%w: bytes follow the object", ErrMalformed)
			}
			return s.values, nil
		default:
			return nil, fmt.Errorf("%w: a comma is missing at byte %d", ErrMalformed, at)
		}
	}
}

// name reads a member's name and its colon, and says which column it is.
func (s *Scanner) name(object []byte, at, guess int) (column, next int, err error) {
	if guess < len(s.quoted) && bytes.HasPrefix(object[at:], s.quoted[guess]) {
		return guess, at + len(s.quoted[guess]), nil
	}
	if at >= len(object) || object[at] != '"' {
		return 0, 0, fmt.Errorf("%w: a name is missing at byte %d", ErrMalformed, at)
	}
	end, err := skipString(object, at)
	if err != nil {
		return 0, 0, err
	}
	name, err := AppendText(nil, object[at:end])
	if err != nil {
		return 0, 0, err
	}
	column, ok := s.index[string(name)]
	if !ok {
		return 0, 0, fmt.Errorf("%w: member %q is not among the columns", ErrMalformed, name)
	}
	if end = space(object, end); end >= len(object) || object[end] != ':' {
		return 0, 0, fmt.Errorf("%w: a colon is missing at byte %d", ErrMalformed, end)
	}
	return column, end + 1, nil
}

func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// skip finds the end of the value at b[at].
func skip(b []byte, at int) (int, error) {
	if at >= len(b) {
		return 0, fmt.Errorf("%w: a value is missing", ErrMalformed)
	}
	switch b[at] {
	case '"':
		return skipString(b, at)
	case '{', '[':
		return skipNested(b, at)
	}
	end := at
	for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] > ' ' {
		end++
	}
	if !scalar(b[at:end]) {
		return 0, fmt.Errorf("%w: no JSON value at byte %d", ErrMalformed, at)
	}
	return end, nil
}

func scalar(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	for _, c := range b {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return false
		}
	}
	return len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9')
}

func skipString(b []byte, at int) (int, error) {
	for i := at + 1; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			break
		}
		if escape := bytes.IndexByte(b[i:i+q], '\\'); escape >= 0 {
			i += escape + 2
			continue
		}
		return i + q + 1, nil
	}
	return 0, fmt.Errorf("%w: a string does not end", ErrMalformed)
}

func skipNested(b []byte, at int) (int, error) {
	for depth, i := 0, at; i < len(b); i++ {
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
	return 0, fmt.Errorf("%w: a nested value does not end", ErrMalformed)
}
