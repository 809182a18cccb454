package render

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
)

// ErrMalformed marks a row that is not a flat JSON object of the columns it was announced with.
var ErrMalformed = errors.New("malformed row")

var errClosed = errors.New("the output is closed")

// scanner finds the columns of rows, and counts these.
type scanner struct {
	columns *jsonscan.Columns
	row     int64 // the row at hand, from 1
}

func newScanner(columns []Column) *scanner {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return &scanner{columns: jsonscan.NewColumns(names)}
}

// scan gives the JSON value of each column, nil where it is null or absent. The values alias row; the slice is valid until the next scan.
func (s *scanner) scan(row []byte) ([][]byte, error) {
	s.row++
	values, err := s.values(row)
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", s.row, err)
	}
	return values, nil
}

// values is scan for a row whose number is not known.
func (s *scanner) values(row []byte) ([][]byte, error) {
	if !utf8.Valid(row) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrMalformed)
	}
	values, err := s.columns.Scan(row)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return values, nil
}
