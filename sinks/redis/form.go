package redis

import (
	"errors"
	"strconv"

	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

// maxValue is the longest string that Redis holds, unless its proto-max-bulk-len was raised.
const maxValue = 512 << 20

var (
	errBig  = errors.New("the value is longer than the 512 MB that Redis takes")
	errNull = errors.New("encoding string can't hold a null; hash and json can")
)

// form gives a row's arguments for the rows script. An error comes with the column that it is about, if it is one.
func (x *transaction) form(c stream.Change, values [][]byte) (args []any, column string, err error) {
	switch x.sink.options.Encoding {
	case JSON:
		if len(c.After) > maxValue {
			return nil, "", errBig
		}
		return []any{"s", string(c.After)}, "", nil
	case String:
		return x.bare(values)
	}
	return x.fields(values)
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
		text, err := field(c.Type, values[i])
		return []any{"s", text}, c.Name, err
	}
	return nil, "", errNull
}

// fields are those of a hash. A full epoch replaces the hash; otherwise the fields that are null now, or no column any more, are removed.
func (x *transaction) fields(values [][]byte) (args []any, column string, err error) {
	args = make([]any, 0, 3+2*len(values)+len(x.keys.gone))
	args = append(args, "f", "")
	var nulls int
	for i, v := range values {
		if v == nil {
			nulls++
			continue
		}
		text, err := field(x.table.Columns[i].Type, v)
		if err != nil {
			return nil, x.names[i], err
		}
		args = append(args, x.names[i], text)
	}
	args[1] = strconv.Itoa(len(args) - 2)
	if x.to.Full {
		return args, "", nil
	}
	args[0] = "h"
	args = append(args, strconv.Itoa(nulls+len(x.keys.gone)))
	for i, v := range values {
		if v == nil {
			args = append(args, x.names[i])
		}
	}
	for _, name := range x.keys.gone {
		args = append(args, name)
	}
	return args, "", nil
}

// field is a value as a field of a hash: what nests stays JSON, texts are bare.
func field(logical string, value []byte) (string, error) {
	if len(value) > maxValue {
		return "", errBig
	}
	if logical == "json" {
		return string(value), nil
	}
	text, err := row.AppendText(nil, value)
	return string(text), err
}
