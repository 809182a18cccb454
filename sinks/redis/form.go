package redis

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

// maxValue is the longest string that Redis takes unless its proto-max-bulk-len says otherwise. A longer one breaks the connection.
const maxValue = 512 << 20

var (
	errBig  error = &row.UnfitError{Reason: "the value is longer than the server takes (proto-max-bulk-len)", Instead: row.Null}
	errNull       = errors.New("encoding string can't hold a null; hash and json can")
)

// form gives a row's arguments for the rows script; their texts are the next batch's. An error comes with the column that it is about, if it is one.
func (x *transaction) form(c stream.Change, values [][]byte) (args []any, column string, err error) {
	if x.sink.options.Encoding == Hash {
		return x.fields(values)
	}
	t := &x.next.texts
	if t.bytes, column, err = x.appendString(t.bytes, c, values); err != nil {
		return nil, column, err
	}
	return []any{"s", t.word()}, "", nil
}

// fit puts stand-ins into the place of values that can't be written. JSON is written as it came: it is refused or not as a whole.
func (x *transaction) fit(values [][]byte) {
	if x.On != sinks.BadReplace || x.sink.options.Encoding == JSON {
		return
	}
	for i, c := range x.table.Columns {
		if c.Key || values[i] == nil {
			continue
		}
		text, err := x.appendField(x.tried[:0], c.Type, values[i])
		x.tried = text
		if err == nil || x.sink.options.Encoding == String && errors.Is(err, errBig) { // which has no null
			continue
		}
		if instead, ok := x.Instead(c, values[i], err); ok {
			values[i] = instead
		}
	}
}

// appendObject gives a row's JSON without the columns that are left out.
func (x *transaction) appendObject(dst []byte, values [][]byte) []byte {
	dst = append(dst, '{')
	for i, c := range x.table.Columns {
		name, _ := json.Marshal(c.Name) // a string always has its JSON
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, name...), ':')
		if values[i] == nil {
			dst = append(dst, "null"...)
		}
		dst = append(dst, values[i]...)
	}
	return append(dst, '}')
}

// appendString gives the string that a row is: its JSON, or the bare value of the only column beside the key.
func (x *transaction) appendString(dst []byte, c stream.Change, values [][]byte) (text []byte, column string, err error) {
	if x.sink.options.Encoding == JSON {
		start := len(dst)
		if len(x.keys.ignored) > 0 {
			dst = x.appendObject(dst, values)
		} else {
			dst = append(dst, c.After...)
		}
		if len(dst)-start > x.limit {
			return dst, "", errBig
		}
		return dst, "", nil
	}
	for i, c := range x.table.Columns {
		if c.Key {
			continue
		}
		if values[i] == nil {
			return dst, c.Name, errNull
		}
		text, err := x.appendField(dst, c.Type, values[i])
		return text, c.Name, err
	}
	return dst, "", errNull
}

// fields are the values of a hash, and which of its fields have none.
func (x *transaction) fields(values [][]byte) (args []any, column string, err error) {
	t := &x.next.texts
	args = append(make([]any, 0, 2+len(values)), "h")
	mask := x.mask(values)
	if mask != "" {
		args = append(args[:0], "n", mask)
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		if t.bytes, err = x.appendField(t.bytes, x.table.Columns[i].Type, v); err != nil {
			return nil, x.table.Columns[i].Name, err
		}
		args = append(args, t.word())
	}
	return args, "", nil
}

// mask has '0' for each null and '1' for the rest; "" when no value is null.
func (x *transaction) mask(values [][]byte) string {
	if !slices.ContainsFunc(values, func(v []byte) bool { return v == nil }) {
		return ""
	}
	mask := make([]byte, len(values))
	for i, v := range values {
		mask[i] = '1'
		if v == nil {
			mask[i] = '0'
		}
	}
	return string(mask)
}

// header is what the rows script is told once a call.
func (x *transaction) header() []any {
	guard, mode := "", ""
	if x.single {
		guard = x.token
	}
	if x.to.Full {
		mode = "f"
	}
	header := []any{guard, mode, strconv.Itoa(len(x.table.Columns))}
	for _, c := range x.table.Columns {
		header = append(header, c.Name)
	}
	header = append(header, strconv.Itoa(len(x.keys.gone)))
	for _, name := range x.keys.gone {
		header = append(header, name)
	}
	return header
}

// appendField gives a value as a field of a hash: what nests stays JSON, texts are bare.
func (x *transaction) appendField(dst []byte, logical string, value []byte) ([]byte, error) {
	if len(value) > x.limit {
		return dst, errBig
	}
	if logical == "json" {
		return append(dst, value...), nil
	}
	return row.AppendText(dst, value)
}
