package sqlite

import (
	"errors"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

var errNoNumber = errors.New("it is no number of the column's type")

// bind makes a statement's arguments of a row. An error names the column, if it concerns one.
func (s *statement) bind(object []byte) (column string, err error) {
	values, err := s.scanner.Scan(object)
	if err != nil {
		return "", err
	}
	for i, c := range s.columns {
		s.args[i] = nil
		if values[i] != nil {
			s.args[i], err = s.write(c, values[i])
		} else if c.Key {
			err = sinks.ErrNullKey
		}
		if err != nil {
			return c.Name, err
		}
	}
	return "", nil
}

// write makes an argument of a value, or of what stands in for it.
func (s *statement) write(c stream.Column, value []byte) (any, error) {
	arg, err := s.value(c.Type, value)
	if err == nil {
		return arg, nil
	}
	if instead, ok := s.bad.Instead(c, value, err); ok {
		return s.value(c.Type, instead)
	}
	return nil, err
}

func (s *statement) value(logical string, value []byte) (any, error) {
	switch logical {
	case "bool":
		return value[0] == 't', nil
	case "int8", "int16", "int32", "int64":
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return nil, errNoNumber
		}
		return n, nil
	case "float32", "float64":
		return float(value)
	case "bytes":
		return row.AppendBytes(make([]byte, 0, len(value)), value)
	case "json":
		return string(value), nil
	}
	text, err := row.AppendText(s.text[:0], value)
	s.text = text
	return string(text), err
}

func float(value []byte) (any, error) {
	text := string(value)
	if row.IsString(value) {
		text = text[1 : len(text)-1]
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return nil, errNoNumber
	case math.IsNaN(f):
		return "NaN", nil
	}
	return f, nil
}
