package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/jsonscan"

	"github.com/parquet-go/parquet-go"
)

// ErrUnfit marks a value that the format can't hold as it is. Another format can: JSON Lines holds every value.
var ErrUnfit = errors.New("the value does not fit the format")

var errSurrogate = unfit("its text holds a lone surrogate, which UTF-8 can't encode")

// maxValue is what one value may take, since a page's size is an int32.
const maxValue = math.MaxInt32 / 2

// values turns JSON values into those of Parquet. Bytes of text lie in arena until the batch is written.
type values struct {
	arena []byte
	text  []byte
}

// convert gives the Parquet value of a JSON value that the scanner found well formed.
func (c *values) convert(v []byte, k kind, u unit) (parquet.Value, error) {
	switch k {
	case boolKind:
		if v[0] != 't' && v[0] != 'f' {
			return parquet.Value{}, notA("bool")
		}
		return parquet.BooleanValue(v[0] == 't'), nil
	case int8Kind, int16Kind, int32Kind, int64Kind:
		return integer(v, k)
	case float32Kind, float64Kind:
		return float(v, k)
	case jsonKind:
		if jsonscan.HasLoneSurrogate(v) { // JSON allows the escape, readers do not and then refuse the file
			return parquet.Value{}, errSurrogate
		}
		return c.keep(len(c.arena), append(c.arena, v...))
	}
	if v[0] != '"' {
		return parquet.Value{}, notA("string")
	}
	switch k {
	case bytesKind:
		return c.bytes(v)
	case dateKind, timeKind, datetimeKind, instantKind:
		return c.temporal(v, k, u)
	}
	return c.string(v)
}

func notA(what string) error { return fmt.Errorf("%w: no %s", ErrMalformed, what) }

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, args...))
}

// keep takes the bytes that were appended to the arena as a value.
func (c *values) keep(start int, arena []byte) (parquet.Value, error) {
	c.arena = arena
	if len(arena)-start > maxValue {
		return parquet.Value{}, unfit("it takes more than %d bytes", maxValue)
	}
	return parquet.ByteArrayValue(arena[start:len(arena):len(arena)]), nil
}

func (c *values) string(v []byte) (parquet.Value, error) {
	start := len(c.arena)
	arena, exact := jsonscan.AppendText(c.arena, v)
	if !exact {
		return parquet.Value{}, errSurrogate
	}
	return c.keep(start, arena)
}

func (c *values) bytes(v []byte) (parquet.Value, error) {
	start, encoded := len(c.arena), v[1:len(v)-1]
	if bytes.IndexByte(encoded, '\\') >= 0 {
		c.text, _ = jsonscan.AppendText(c.text[:0], v)
		encoded = c.text
	}
	arena, err := base64.StdEncoding.AppendDecode(c.arena, encoded)
	if err != nil {
		return parquet.Value{}, notA("base64")
	}
	return c.keep(start, arena)
}

func integer(v []byte, k kind) (parquet.Value, error) {
	width := integerBits[k]
	n, err := strconv.ParseInt(string(v), 10, width)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return parquet.Value{}, unfit("it is no integer of %d bits", width)
	case err != nil:
		return parquet.Value{}, notA("integer")
	case k == int64Kind:
		return parquet.Int64Value(n), nil
	}
	return parquet.Int32Value(int32(n)), nil
}

var integerBits = [...]int{int8Kind: 8, int16Kind: 16, int32Kind: 32, int64Kind: 64}

func float(v []byte, k kind) (parquet.Value, error) {
	width := 64
	if k == float32Kind {
		width = 32
	}
	f, err := parseFloat(v, width)
	if err == nil && k == float32Kind {
		return parquet.FloatValue(float32(f)), nil
	}
	return parquet.DoubleValue(f), err
}

func parseFloat(v []byte, width int) (float64, error) {
	switch string(v) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	if !jsonscan.IsNumber(v) {
		return 0, notA("number")
	}
	f, err := strconv.ParseFloat(string(v), width)
	if err != nil {
		return 0, unfit("it is no float of %d bits", width)
	}
	return f, nil
}

func (c *values) temporal(v []byte, k kind, u unit) (parquet.Value, error) {
	text := v[1 : len(v)-1]
	switch k {
	case dateKind:
		days, o := parseDate(text)
		if o == malformed {
			return parquet.Value{}, notA("date")
		}
		if o == tooFar || days != int64(int32(days)) {
			return parquet.Value{}, unfit("a DATE has 32 bits of days")
		}
		return parquet.Int32Value(int32(days)), nil
	case timeKind:
		t, ok := parseTime(text)
		if !ok {
			return parquet.Value{}, notA("time")
		}
		return parquet.Int64Value(t), nil
	}
	m, o := parseMoment(text, k == instantKind)
	if o == malformed {
		return parquet.Value{}, notA("timestamp")
	}
	return stamp(m, o, u)
}

func stamp(m moment, o outcome, u unit) (parquet.Value, error) {
	if u == nanos {
		if n, ok := m.nanoseconds(); ok && o == read {
			return parquet.Int64Value(n), nil
		}
		return parquet.Value{}, unfit("a TIMESTAMP in nanoseconds, which values of this column need, ends in 1677 and 2262")
	}
	if n, ok := m.micros(); ok && o == read {
		return parquet.Int64Value(n), nil
	}
	if o == read && m.nanos%1000 != 0 {
		return parquet.Value{}, unfit("the column was begun as a TIMESTAMP in microseconds and this value has nanoseconds")
	}
	return parquet.Value{}, unfit("a TIMESTAMP in microseconds ends some 290,000 years from 1970")
}
