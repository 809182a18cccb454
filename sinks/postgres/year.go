package postgres

import (
	"bytes"
	"strconv"

	"github.com/statebridge/statebridge/sinks/row"
)

// What PostgreSQL keeps; year 0 is 1 BC.
const (
	firstYear         = -4712
	lastYear          = 5874897
	lastTimestampYear = 294276
)

var errYear error = &row.UnfitError{Reason: "the date is out of the column's range", Instead: row.Null}

// dated tells whether the column's values have a year.
func (e *encoder) dated() bool {
	return e.kind == "date" || e.kind == "timestamp without time zone" || e.kind == "timestamp with time zone"
}

// respellYear turns a year that ISO 8601 writes with a sign, and year 0, into PostgreSQL's spelling: no plus, and BC behind the rest.
func respellYear(dst []byte, start int, kind string) ([]byte, error) {
	text := dst[start:]
	if len(text) == 0 || text[0] != '+' && text[0] != '-' && !bytes.HasPrefix(text, []byte("0000-")) {
		return dst, nil
	}
	end := 1 + bytes.IndexByte(text[1:], '-')
	year, err := strconv.Atoi(string(text[:max(end, 0)]))
	if err != nil {
		return dst, errYear
	}
	last := lastTimestampYear
	if kind == "date" {
		last = lastYear
	}
	if year < firstYear || year > last {
		return dst, errYear
	}
	rest := bytes.Clone(text[end:])
	if year > 0 {
		return append(strconv.AppendInt(dst[:start], int64(year), 10), rest...), nil
	}
	dst = appendYear(dst[:start], 1-year)
	return append(append(dst, rest...), " BC"...), nil
}

// appendYear writes four digits at least; PostgreSQL would take two for a year of this age.
func appendYear(dst []byte, year int) []byte {
	for least := 1000; least > max(year, 1); least /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(year), 10)
}
