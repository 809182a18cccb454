package state

import (
	"fmt"
	"strings"

	"github.com/statebridge/statebridge/state/javaobj"
)

// A sqlType is a logical type of Flink SQL, as its serializers' snapshots hold it: a Java object.
type sqlType struct {
	typ       Type
	root      string // BIGINT, VARCHAR, …; a distinct type has that of its source
	precision int
	scale     int
	elem, key *sqlType   // of ARRAY, MAP and MULTISET
	fields    []*sqlType // of ROW and STRUCTURED

	form   rowForm  // of ROW: what its bytes are
	length int      // of CHAR and BINARY in Fluss
	quoted [][]byte // `"name":` of each field, where the row is a Record
}

const logical = "org.apache.flink.table.types.logical."

// sqlKinds are the types without parts whose kind follows from the root.
var sqlKinds = map[string]TypeKind{
	"BOOLEAN": Bool, "TINYINT": Int8, "SMALLINT": Int16, "INTEGER": Int32, "BIGINT": Int64, "FLOAT": Float32, "DOUBLE": Float64,
	"CHAR": String, "VARCHAR": String, "BINARY": Bytes, "VARBINARY": Bytes, "DECIMAL": Decimal, "DATE": Date, "TIME_WITHOUT_TIME_ZONE": Time,
	"TIMESTAMP_WITHOUT_TIME_ZONE": DateTime, "TIMESTAMP_WITH_LOCAL_TIME_ZONE": Instant,
	"INTERVAL_YEAR_MONTH": Int32, "INTERVAL_DAY_TIME": Int64, "RAW": Raw,
}

// parseSQLType turns a deserialized LogicalType into a type. What is not known becomes Raw, with the reason.
func parseSQLType(v javaobj.Value, depth int) *sqlType {
	o, ok := v.(*javaobj.Object)
	if !ok || depth > maxDepth {
		return unknownSQL("", "its logical type is not readable")
	}
	class := strings.TrimPrefix(o.ClassName(), logical)
	t := &sqlType{root: o.Enum("typeRoot")}
	t.precision, _ = o.Int("precision")
	t.scale, _ = o.Int("scale")
	switch class {
	case "ArrayType":
		t.elem = parseSQLType(o.Object("elementType"), depth+1)
		t.typ = Type{Kind: List, Elem: &t.elem.typ}
	case "MultisetType":
		t.key, t.elem = parseSQLType(o.Object("elementType"), depth+1), sqlCount
		t.typ = Type{Kind: Map, Key: &t.key.typ, Elem: &t.elem.typ}
	case "MapType":
		t.key, t.elem = parseSQLType(o.Object("keyType"), depth+1), parseSQLType(o.Object("valueType"), depth+1)
		t.typ = Type{Kind: Map, Key: &t.key.typ, Elem: &t.elem.typ}
	case "RowType":
		t.addFields(o, "fields", depth)
	case "StructuredType":
		t.addFields(o, "attributes", depth)
	case "DistinctType":
		return parseSQLType(o.Object("sourceType"), depth+1)
	case "RawType", "TypeInformationRawType":
		t.root, t.typ = "RAW", Type{Kind: Raw, Class: o.ClassName(), Why: "a RAW column"}
	default:
		kind, known := sqlKinds[t.root]
		if !known {
			return unknownSQL(o.ClassName(), "the logical type "+class+" is not decoded")
		}
		t.typ = Type{Kind: kind}
	}
	t.typ.Nullable = o.Bool("isNullable")
	return t
}

// sqlCount is how often an element is in a multiset.
var sqlCount = &sqlType{root: "INTEGER", typ: Type{Kind: Int32}}

func unknownSQL(class, why string) *sqlType {
	return &sqlType{typ: Type{Kind: Raw, Class: class, Why: why}}
}

func (t *sqlType) addFields(o *javaobj.Object, list string, depth int) {
	t.root = "ROW"
	t.typ = Type{Kind: Tuple, Fields: []Field{}}
	v, _ := o.Field(list)
	fields, ok := javaobj.Elements(v)
	if !ok {
		*t = *unknownSQL(o.ClassName(), fmt.Sprintf("its %s are not readable", list))
		return
	}
	for _, f := range fields {
		fo, _ := f.(*javaobj.Object)
		ft := parseSQLType(fo.Object("type"), depth+1)
		t.fields = append(t.fields, ft)
		t.typ.Fields = append(t.typ.Fields, Field{fo.String("name"), &ft.typ})
	}
}

// width is what a value takes in an array, or in the slot of a row, which has 8 bytes in any case.
func (t *sqlType) width() int {
	switch t.root {
	case "BOOLEAN", "TINYINT":
		return 1
	case "SMALLINT":
		return 2
	case "INTEGER", "FLOAT", "DATE", "TIME_WITHOUT_TIME_ZONE", "INTERVAL_YEAR_MONTH":
		return 4
	}
	return 8
}
