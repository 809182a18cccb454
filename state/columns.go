package state

// Path leads to a value of a row: key, namespace, map_key, value or ttl_ts, then member names separated by dots, as in
// value.address.city or key.f0.
type Path string

// Column is a column of a table that mirrors a state.
type Column struct {
	Name string
	Path Path
	Type *Type
	Key  bool // part of the row's identity
}

// Mapping names a column and the path that it shows.
type Mapping struct {
	Name string
	Path Path
}

// DefaultColumns gives the columns of a state when the user names none.
func DefaultColumns(s *Schema) []Column { return nil }

// ParseColumns gives the columns that the user named, in that order; it lists every fault at once.
func ParseColumns(s *Schema, mappings []Mapping) ([]Column, error) { return nil, nil }

// ColumnType names the type of a column: bool, int8, int16, int32, int64, float32, float64, string, bytes, decimal, bigint, date,
// time, datetime, instant, uuid or json.
func (t *Type) ColumnType() string { return "json" }
