package postgres

import (
	"slices"

	"github.com/statebridge/statebridge/stream"
)

// native is the type that a column is created with.
func native(logical string) string {
	switch logical {
	case "bool":
		return "boolean"
	case "int8", "int16":
		return "smallint"
	case "int32":
		return "integer"
	case "int64":
		return "bigint"
	case "float32":
		return "real"
	case "float64":
		return "double precision"
	case "decimal", "bigint":
		return "numeric"
	case "bytes":
		return "bytea"
	case "date":
		return "date"
	case "time":
		return "time without time zone"
	case "datetime":
		return "timestamp without time zone"
	case "instant":
		return "timestamp with time zone"
	case "uuid":
		return "uuid"
	case "json":
		return "jsonb"
	}
	return "text"
}

// wider lists, for each type that holds numbers, the types that hold all of its values too.
var wider = map[string][]string{
	"smallint": {"integer", "bigint", "numeric", "real", "double precision"},
	"integer":  {"bigint", "numeric", "double precision"},
	"bigint":   {"numeric"},
	"real":     {"double precision"},
}

// holds tells whether a column of a type takes every value of a logical type as it is; single values may still be refused.
func holds(have string, c stream.Column) bool {
	switch have {
	case "text", "character varying", "json", "jsonb":
		return true
	case "bytea":
		if c.Type == "string" && !c.Key { // as UTF-8, so that a NUL is no trouble
			return true
		}
	}
	want := native(c.Type)
	return have == want || slices.Contains(wider[want], have)
}

// widens tells whether a column that Statebridge made must become wider to hold a logical type, and can.
func widens(have, logical string) bool { return slices.Contains(wider[have], native(logical)) }
