package redis

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

// maxValue is the longest string that Redis takes unless its proto-max-bulk-len says otherwise. A longer one breaks the connection.
const maxValue = 512 << 20

var (
	errBig  = errors.New("the value is longer than the server takes (proto-max-bulk-len)")
	errNull = errors.New("encoding string can't hold a null; hash and json can")
)

// form gives a row's arguments for the rows script. An error comes with the column that it is about, if it is one.
func (x *transaction) form(c stream.Change, values [][]byte) (args []any, column string, err error) {
	switch x.sink.options.Encoding {
	case JSON:
		object := string(c.After)
		if len(x.keys.ignored) > 0 {
			object = x.object(values)
		}
		if len(object) > x.limit {
			return nil, "", errBig
		}
		return []any{"s", object}, "", nil
	case String:
		return x.bare(values)
	}
	return x.fields(values)
}

// object is a row's JSON without the columns that are left out.
func (x *transaction) object(values [][]byte) string {
	dst := []byte{'{'}
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
	return string(append(dst, '}'))
}

// bare is the value of the only column beside the key.
func (x *transaction) bare(values [][]byte) (args []any, column string, err error) {
	for i, c := range x.table.Columns {
		if c.Key {
			continue
		}
		if values[i] == nil {
			return nil, c.Name, errNull
		}
		text, err := x.field(c.Type, values[i])
		return []any{"s", text}, c.Name, err
	}
	return nil, "", errNull
}

// fields are the values of a hash, and which of its fields have none.
func (x *transaction) fields(values [][]byte) (args []any, column string, err error) {
	args = append(make([]any, 0, 2+len(values)), "h")
	mask := x.mask(values)
	if mask != "" {
		args = append(args[:0], "n", mask)
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		text, err := x.field(x.table.Columns[i].Type, v)
		if err != nil {
			return nil, x.table.Columns[i].Name, err
		}
		args = append(args, text)
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

// field is a value as a field of a hash: what nests stays JSON, texts are bare.
func (x *transaction) field(logical string, value []byte) (string, error) {
	if len(value) > x.limit {
		return "", errBig
	}
	if logical == "json" {
		return string(value), nil
	}
	text, err := row.AppendText(nil, value)
	return string(text), err
}
