package postgres

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

const (
	tooLong    = "the text is longer than the column"
	tooPrecise = "it has more digits after the point than the column keeps; a column of type text keeps them all"
)

var (
	errTooBig       = errors.New("the number is out of the column's range")
	errNull         = errors.New("it is null, and the column is NOT NULL")
	errNUL    error = &row.UnfitError{Reason: "the text holds a NUL character, which PostgreSQL can't store", Instead: row.Clean}
)

// encoder writes the values of one column in COPY's text format.
type encoder struct {
	stream.Column
	column
}

func encoders(have map[string]column, want []stream.Column) (found []encoder) {
	for _, c := range want {
		found = append(found, encoder{Column: c, column: have[c.Name]})
	}
	return found
}

// appendNull writes an absent value.
func (e *encoder) appendNull(dst []byte) ([]byte, error) {
	switch {
	case e.Key:
		return dst, sinks.ErrNullKey
	case e.required:
		return dst, errNull
	}
	return append(dst, `\N`...), nil
}

// append writes a JSON value, nil for null.
func (e *encoder) append(dst, value []byte) ([]byte, error) {
	if value == nil {
		return e.appendNull(dst)
	}
	switch e.kind {
	case "json": // keeps the text as it is, escapes and all
		return appendEscaped(dst, value), nil
	case "jsonb":
		return appendJSON(dst, value)
	case "bytea":
		return e.appendBytes(dst, value)
	}
	start := len(dst)
	dst, err := appendText(dst, value)
	if err == nil {
		err = e.fits(dst[start:])
	}
	if err != nil {
		return dst, err
	}
	if e.dated() {
		return respellYear(dst, start, e.kind)
	}
	return dst, nil
}

// fits refuses what the column would round or cut without a word.
func (e *encoder) fits(text []byte) error {
	switch {
	case e.length >= 0 && utf8.RuneCount(text) > e.length:
		if e.Type == "string" {
			return &row.UnfitError{Reason: tooLong, Instead: row.Cut(e.length)}
		}
		return errors.New(tooLong) // half a number is another number
	case e.kind == "numeric" && magnitude(text) > e.whole:
		return errTooBig
	case e.scale < 0 || fraction(text) <= e.scale:
		return nil
	case e.kind == "numeric":
		return errors.New(tooPrecise)
	}
	return &row.UnfitError{Reason: tooPrecise, Instead: row.CutSecond(e.scale)}
}

// magnitude counts a number's digits before the point.
func magnitude(text []byte) (digits int) {
	mantissa, exponent := split(text)
	before := len(mantissa)
	if point := bytes.IndexByte(mantissa, '.'); point >= 0 {
		before = point
	}
	for i, b := range mantissa {
		if b < '1' || b > '9' { // a sign, a point, or a zero that says nothing
			continue
		}
		if i > before {
			i-- // the point is no digit
		}
		return max(before-i+exponent, 0)
	}
	return 0
}

// split parts a number's mantissa from its exponent.
func split(text []byte) (mantissa []byte, exponent int) {
	mark := bytes.IndexAny(text, "eE")
	if mark < 0 {
		return text, 0
	}
	exponent, _ = strconv.Atoi(string(bytes.TrimPrefix(text[mark+1:], []byte("+"))))
	return text[:mark], max(min(exponent, 1<<30), -1<<30)
}

// fraction counts the digits after the point that say something; a decimal's exponent moves the point.
func fraction(text []byte) int {
	mantissa, exponent := split(text)
	point := bytes.IndexByte(mantissa, '.')
	digits := 0
	for i := point + 1; point >= 0 && i < len(mantissa) && mantissa[i] >= '0' && mantissa[i] <= '9'; i++ {
		if mantissa[i] != '0' {
			digits = i - point
		}
	}
	return digits - exponent
}

// appendText writes the characters of a string, or a scalar as it stands.
func appendText(dst, value []byte) ([]byte, error) {
	if !row.IsString(value) {
		return appendEscaped(dst, value), nil
	}
	if bytes.IndexByte(value, '\\') < 0 { // JSON escapes all that COPY would have to
		return append(dst, value[1:len(value)-1]...), nil
	}
	text, err := row.AppendText(nil, value)
	if err != nil {
		return dst, err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return dst, errNUL
	}
	return appendEscaped(dst, text), nil
}

// appendJSON writes a value for jsonb, which stores characters and not their escapes.
func appendJSON(dst, value []byte) ([]byte, error) {
	switch {
	case jsonscan.HasNUL(value):
		return dst, errNUL
	case jsonscan.HasLoneSurrogate(value):
		return dst, row.ErrSurrogate
	}
	return appendEscaped(dst, value), nil
}

// appendEscaped writes bytes so that COPY reads them back.
func appendEscaped(dst, b []byte) []byte {
	for {
		i := bytes.IndexAny(b, "\\\n\r\t")
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(append(dst, b[:i]...), '\\')
		switch b[i] {
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, b[i])
		}
		b = b[i+1:]
	}
}

// appendBytes writes bytes, or a text as its UTF-8.
func (e *encoder) appendBytes(dst, value []byte) ([]byte, error) {
	read := row.AppendBytes
	if e.Type == "string" {
		read = row.AppendText
	}
	b, err := read(nil, value)
	if err != nil {
		return dst, err
	}
	return hex.AppendEncode(append(dst, `\\x`...), b), nil
}
