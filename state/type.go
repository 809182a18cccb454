package state

import "strings"

// TypeKind is the shape of a decoded value.
type TypeKind uint8

// The shapes, and how a value of each looks in canonical JSON.
const (
	Raw          TypeKind = iota // not decodable: {"$raw":base64,"$type":class,"$why":text}
	Any                          // the type stands beside each value (Kryo): any of the others
	Null                         // void
	Bool                         // true
	Int8                         // 1; integers are plain numbers, also beyond 2^53
	Int16                        // 1
	Int32                        // 1
	Int64                        // 1
	Float32                      // 1.5; NaN and infinities are "NaN", "Infinity", "-Infinity"; -0.0 stays
	Float64                      // 1.5
	Char                         // "a"
	String                       // "text"; lone surrogates as \uXXXX
	Bytes                        // base64
	Decimal                      // "1.50"
	BigInt                       // "123"
	Date                         // LocalDate "2006-01-02"
	Time                         // LocalTime "15:04:05.999999999"
	DateTime                     // LocalDateTime "2006-01-02T15:04:05.999999999"
	Instant                      // Instant, java.util.Date, java.sql.*: "2006-01-02T15:04:05.999999999Z"
	UUID                         // "00000000-0000-0001-0000-000000000002"
	Enum                         // "NAME"
	List                         // [e, …]; arrays and lists
	Set                          // [e, …] sorted by their JSON bytes, so that equal sets print equal
	Map                          // {"k":v} when every key is a string, else [[k,v],…]; sorted by the JSON bytes of the key
	Tuple                        // [f0, f1, …]; tuples and nameless rows
	Object                       // {"field":v,…} members sorted by name; POJO, record; "$class" first where a subclass is stored
	Record                       // {"column":v,…} members in the order of the columns; rows of Fluss
	Either                       // {"left":v} or {"right":v}
	Window                       // {"start":ms,"end":ms}
	GlobalWindow                 // "GlobalWindow"
)

// Type is the logical type of a value, read from a serializer snapshot.
type Type struct {
	Kind       TypeKind
	Class      string   // Java class of an Object or Enum; of Raw and Any the class or serializer as the snapshot names it
	Elem       *Type    // of List, Set; value of Map; right of Either
	Key        *Type    // of Map; left of Either
	Fields     []Field  // of Object, Record and Tuple (names "f0", "f1", … where the snapshot has none)
	Subclasses []*Type  // of Object: the subclasses that the snapshot knows
	Symbols    []string // of Enum
	Nullable   bool     // a null may stand here beyond what Kind says
	Why        string   // of Raw: why it is not decoded
}

// Field is a member of an Object, Record or Tuple.
type Field struct {
	Name string
	Type *Type
}

var kindNames = [...]string{
	Raw: "raw", Any: "any", Null: "void", Bool: "bool", Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64",
	Float32: "float32", Float64: "float64", Char: "char", String: "string", Bytes: "bytes", Decimal: "decimal", BigInt: "bigint",
	Date: "date", Time: "time", DateTime: "datetime", Instant: "instant", UUID: "uuid", Enum: "enum", List: "list", Set: "set",
	Map: "map", Tuple: "tuple", Object: "object", Record: "row", Either: "either", Window: "window", GlobalWindow: "global window",
}

func (k TypeKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// String prints the type as a person reads it: map<string,list<int64>>.
func (t *Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Type) write(b *strings.Builder) {
	switch t.Kind {
	case Raw, Any, Enum:
		b.WriteString(t.Kind.String())
		if t.Class != "" {
			b.WriteString(" " + t.Class)
		}
		return
	case Object:
		b.WriteString(t.Class)
	default:
		b.WriteString(t.Kind.String())
	}
	if t.Fields != nil {
		t.writeFields(b)
		return
	}
	t.writeParts(b)
}

func (t *Type) writeFields(b *strings.Builder) {
	b.WriteString("(")
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		if t.Kind == Object || t.Kind == Record {
			b.WriteString(f.Name + " ")
		}
		f.Type.write(b)
	}
	b.WriteString(")")
}

func (t *Type) writeParts(b *strings.Builder) {
	if t.Elem == nil {
		return
	}
	b.WriteString("<")
	if t.Key != nil {
		t.Key.write(b)
		b.WriteString(",")
	}
	t.Elem.write(b)
	b.WriteString(">")
}
