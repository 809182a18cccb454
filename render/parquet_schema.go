package render

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// unit is the resolution of a TIMESTAMP column.
type unit uint8

const (
	micros unit = iota // 292,000 years to both sides; what most readers take
	nanos              // 1677-09-21 to 2262-04-11
)

// parquetKind gives the Parquet type of a column; the package comment says why decimal and bigint are text. A uuid is text as in the other formats.
func parquetKind(k kind, u unit) parquet.Node {
	switch k {
	case boolKind:
		return parquet.Leaf(parquet.BooleanType)
	case int8Kind:
		return parquet.Int(8)
	case int16Kind:
		return parquet.Int(16)
	case int32Kind:
		return parquet.Int(32)
	case int64Kind:
		return parquet.Int(64)
	case float32Kind:
		return parquet.Leaf(parquet.FloatType)
	case float64Kind:
		return parquet.Leaf(parquet.DoubleType)
	case bytesKind:
		return parquet.Leaf(parquet.ByteArrayType)
	case dateKind:
		return parquet.Date()
	case timeKind:
		return parquet.TimeAdjusted(parquet.Nanosecond, false)
	case datetimeKind, instantKind:
		return timestamp(u, k == instantKind)
	case jsonKind:
		return parquet.JSON()
	}
	return parquet.String()
}

func timestamp(u unit, utc bool) parquet.Node {
	if u == nanos {
		return parquet.TimestampAdjusted(parquet.Nanosecond, utc)
	}
	return parquet.TimestampAdjusted(parquet.Microsecond, utc)
}

// text says that a column's values are byte arrays.
func (k kind) text() bool {
	switch k {
	case stringKind, bytesKind, decimalKind, bigintKind, uuidKind, jsonKind:
		return true
	}
	return false
}

func parquetSchema(columns []Column, units []unit) *parquet.Schema {
	root := &ordered{Group: parquet.Group{}}
	for i, c := range columns {
		node := parquet.Encoded(parquetKind(kinds[c.Type], units[i]), &parquet.Plain)
		if c.Nullable {
			node = parquet.Optional(node)
		}
		root.fields = append(root.fields, field{node, c.Name})
	}
	return parquet.NewSchema("row", root)
}

// ordered is a group that keeps the order of its columns; parquet.Group sorts them by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o *ordered) Fields() []parquet.Field { return o.fields }

// GoType is not asked for when values are written column by column; that of Group would need names that Go takes.
func (o *ordered) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

func (f field) Value(base reflect.Value) reflect.Value { return base }
