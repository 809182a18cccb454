package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A shapeHint knows all fields of a class, in order of their names, which is that of Kryo's FieldSerializer and of Flink's POJOs.
type shapeHint struct {
	typ    *Type
	fields []hintedField
	pojos  [2]*subclass // the class as a POJO's serializer writes it, by Kryo version
}

type hintedField struct {
	name string
	java javaType
}

// A javaType is a type as it is written in Java: int, String[], Map<String,Integer>.
type javaType struct {
	name string // without parameters
	args []string
}

func (t javaType) String() string {
	if t.args == nil {
		return t.name
	}
	return t.name + "<" + strings.Join(t.args, ",") + ">"
}

// A hintedType is what is known of a Java type in both serializers.
type hintedType struct {
	kryo      string // its class
	primitive bool
	final     bool  // no other class can stand in its place
	pojo      Codec // nil: a generic type
}

var hintedTypes = map[string]hintedType{
	"String":     {kryo: "java.lang.String", final: true, pojo: stringCodec},
	"UUID":       {kryo: "java.util.UUID", final: true},
	"BigDecimal": {kryo: "java.math.BigDecimal", pojo: bigDecCodec}, "BigInteger": {kryo: "java.math.BigInteger", pojo: bigIntCodec},
	"Date": {kryo: "java.util.Date", pojo: dateCodec}, "Timestamp": {kryo: "java.sql.Timestamp", pojo: timestampCodec},
	"Instant": {kryo: "java.time.Instant", final: true, pojo: instantCodec}, "LocalDate": {kryo: "java.time.LocalDate", final: true, pojo: localDateCodec},
	"LocalTime":     {kryo: "java.time.LocalTime", final: true, pojo: localTimeCodec},
	"LocalDateTime": {kryo: "java.time.LocalDateTime", final: true, pojo: localDateTimeCodec},
	"String[]":      {kryo: "[Ljava.lang.String;", final: true, pojo: arraySerializers["StringArraySerializer"]},
	"Object":        {kryo: "java.lang.Object"},
	"List":          {kryo: "java.util.List"}, "Set": {kryo: "java.util.Set"}, "Collection": {kryo: "java.util.Collection"}, "Map": {kryo: "java.util.Map"},
}

func init() {
	for _, p := range []struct{ name, boxed, array, serializer string }{
		{"boolean", "Boolean", "[Z", "Boolean"}, {"byte", "Byte", "[B", "Byte"}, {"short", "Short", "[S", "Short"}, {"char", "Character", "[C", "Char"},
		{"int", "Integer", "[I", "Int"}, {"long", "Long", "[J", "Long"}, {"float", "Float", "[F", "Float"}, {"double", "Double", "[D", "Double"},
	} {
		scalar, array := basicSerializers[p.serializer+"Serializer"], arraySerializers[p.serializer+"PrimitiveArraySerializer"]
		hintedTypes[p.name] = hintedType{kryo: "java.lang." + p.boxed, primitive: true, final: true, pojo: scalar}
		hintedTypes[p.boxed] = hintedType{kryo: "java.lang." + p.boxed, final: true, pojo: scalar}
		hintedTypes[p.name+"[]"] = hintedType{kryo: p.array, final: true, pojo: array}
	}
}

var typeParameters = map[string]int{"List": 1, "Set": 1, "Collection": 1, "Map": 2}

// parseShape reads name:type,name:type.
func parseShape(class, text string) (*shapeHint, error) {
	s := &shapeHint{}
	for text = strings.TrimSpace(text); text != ""; {
		name, rest, ok := strings.Cut(text, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, fmt.Errorf("%q: name:type is expected", text)
		}
		var java string
		java, text = cutType(rest)
		t, err := parseJava(java)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		if slices.ContainsFunc(s.fields, func(f hintedField) bool { return f.name == name }) {
			return nil, fmt.Errorf("field %s is given twice", name)
		}
		s.fields = append(s.fields, hintedField{name, t})
	}
	slices.SortFunc(s.fields, func(a, b hintedField) int { return cmp.Compare(a.name, b.name) })
	s.typ = &Type{Kind: Object, Class: class, Fields: []Field{}, Nullable: true}
	for _, f := range s.fields {
		s.typ.Fields = append(s.typ.Fields, Field{f.name, f.java.logical()})
	}
	s.pojos = [2]*subclass{s.pojo(class, &kryo24), s.pojo(class, &kryo5)}
	return s, nil
}

// cutType cuts at the first comma outside of angle brackets.
func cutType(text string) (java, rest string) {
	depth := 0
	for i, c := range text {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case c == ',' && depth == 0:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

func parseJava(text string) (javaType, error) {
	text = strings.ReplaceAll(text, " ", "")
	name, args, generic := strings.Cut(text, "<")
	t := javaType{name: name}
	if generic {
		if !strings.HasSuffix(args, ">") {
			return t, fmt.Errorf("type %q: a > is missing", text)
		}
		t.args = strings.Split(strings.TrimSuffix(args, ">"), ",")
	}
	if _, ok := hintedTypes[name]; !ok {
		return t, fmt.Errorf("type %q is not known; known are %s, and Object for a class of your own that is not final", name, strings.Join(knownTypes(), ", "))
	}
	if len(t.args) != typeParameters[name] {
		return t, fmt.Errorf("type %q has %d type parameters, not %d; Object stands for any class", name, typeParameters[name], len(t.args))
	}
	for _, a := range t.args {
		if h, ok := hintedTypes[a]; !ok || h.primitive || typeParameters[a] > 0 {
			return t, fmt.Errorf("type %q: %q cannot be a type parameter here", text, a)
		}
	}
	return t, nil
}

func knownTypes() []string {
	var names []string
	for name := range hintedTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// logical is the type of a field's values.
func (t javaType) logical() *Type {
	kryo := hintedTypes[t.name].kryo
	if args := t.args; args != nil {
		elem := javaType{name: args[len(args)-1]}.logical()
		switch t.name {
		case "Map":
			return &Type{Kind: Map, Class: kryo, Key: javaType{name: args[0]}.logical(), Elem: elem, Nullable: true}
		case "Set":
			return &Type{Kind: Set, Class: kryo, Elem: elem, Nullable: true}
		}
		return &Type{Kind: List, Class: kryo, Elem: elem, Nullable: true}
	}
	c := kryoCodec{version: &kryo5}
	typ := c.declared(kryo)
	typ.Class, typ.Nullable = "", !hintedTypes[t.name].primitive
	if typ.Kind == Any {
		typ.Class = kryo
	}
	return &typ
}

// kryoFields are the fields as FieldSerializer writes them.
func (s *shapeHint) kryoFields(v *kryoVersion) (fields []kryoField, why string) {
	fields = []kryoField{}
	for _, f := range s.fields {
		known := hintedTypes[f.java.name]
		k := kryoField{quoted: append(appendQuoted(nil, f.name), ':'), primitive: known.primitive}
		if known.final {
			if k.typ = v.classes[known.kryo]; k.typ == nil {
				return nil, fmt.Sprintf("field %s: a %s is not read", f.name, f.java)
			}
		}
		for i, a := range f.java.args {
			if arg := hintedTypes[a]; arg.final {
				k.generic[i] = v.classes[arg.kryo]
			}
		}
		fields = append(fields, k)
	}
	return fields, ""
}

// pojo makes the codec of the class as a POJO of a job.
func (s *shapeHint) pojo(class string, v *kryoVersion) *subclass {
	c := &objectCodec{typ: Type{Kind: Object, Class: class, Nullable: true}, others: map[string]*subclass{}}
	for _, f := range s.fields {
		c.field(f.name, f.java.pojo(v))
	}
	c.arrange()
	return &subclass{classMember(class), c}
}

// pojo is the serializer that Flink chooses for a field: from version 2 on it has some for collections, before Kryo writes these.
func (t javaType) pojo(v *kryoVersion) Codec {
	known := hintedTypes[t.name]
	if known.pojo != nil {
		return known.pojo
	}
	if t.args == nil || !v.little || t.name == "Collection" {
		c := &kryoCodec{version: v, ids: v.ids}
		c.typ = c.declared(known.kryo)
		return c
	}
	var args []Codec
	for _, a := range t.args {
		args = append(args, javaType{name: a}.pojo(v))
	}
	build := map[string]func([]Codec) Codec{"List": newList, "Set": newSet, "Map": newMap}[t.name]
	c := &nullableCodec{inner: build(args)}
	c.typ = *c.inner.Type()
	c.typ.Nullable = true
	return c
}

// extends says why the class cannot be a subclass of the POJO, all of whose fields it would have; nil if it can.
func (s *shapeHint) extends(base *Type) error {
	for _, f := range base.Fields {
		if !slices.ContainsFunc(s.fields, func(g hintedField) bool { return g.name == f.Name }) {
			return errors.New("its hint lacks the field " + f.Name + " of " + base.Class)
		}
	}
	return nil
}
