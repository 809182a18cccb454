package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// avroPrimitives are the types without attributes; logical types change nothing in the bytes.
var avroPrimitives = map[string]Codec{
	"null": avroNullCodec, "boolean": boolCodec, "int": int32Codec, "long": int64Codec, "float": float32Codec, "double": float64Codec,
	"bytes": bytesCodec, "string": avroStringCodec,
}

// avroParser turns a schema into a codec. Named types may be used again by name, also inside themselves.
type avroParser struct {
	named map[string]Codec
	depth int
	plain bool // the specification's encoding, not Flink's
}

func parseAvro(schema []byte) (Codec, error) {
	p := &avroParser{named: map[string]Codec{}}
	return p.parse(schema, "")
}

func parsePlainAvro(schema []byte) (Codec, error) {
	p := &avroParser{named: map[string]Codec{}, plain: true}
	return p.parse(schema, "")
}

func (p *avroParser) primitive(name string) Codec {
	if p.plain {
		return avroPlainTypes[name]
	}
	return avroPrimitives[name]
}

var errAvroDepth = fmt.Errorf("types nest deeper than %d", maxDepth)

func (p *avroParser) parse(schema json.RawMessage, namespace string) (Codec, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errAvroDepth
	}
	defer func() { p.depth-- }()
	var name string
	if json.Unmarshal(schema, &name) == nil {
		return p.lookup(name, namespace)
	}
	var branches []json.RawMessage
	if json.Unmarshal(schema, &branches) == nil {
		return p.union(branches, namespace)
	}
	var t avroType
	if err := json.Unmarshal(schema, &t); err != nil {
		return nil, errors.New("neither a name, a union nor an object")
	}
	return p.object(&t, namespace)
}

type avroType struct {
	Type      json.RawMessage
	Name      string
	Namespace *string
	Fields    []struct {
		Name string
		Type json.RawMessage
	}
	Symbols       []string
	Items, Values json.RawMessage
	Size          int
}

func (p *avroParser) lookup(name, namespace string) (Codec, error) {
	if c := p.primitive(name); c != nil {
		return c, nil
	}
	c := p.named[fullName(name, namespace)]
	if c == nil {
		c = p.named[name]
	}
	if c == nil {
		return nil, fmt.Errorf("type %q is not defined", name)
	}
	return c, nil
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

func (p *avroParser) object(t *avroType, namespace string) (Codec, error) {
	var kind string
	if json.Unmarshal(t.Type, &kind) != nil {
		return p.parse(t.Type, namespace) // {"type":{"type":…}}
	}
	if t.Namespace != nil {
		namespace = *t.Namespace
	}
	name := fullName(t.Name, namespace)
	switch kind {
	case "record", "error":
		return p.record(t, name)
	case "enum":
		return p.define(name, p.enum(name, t.Symbols)), nil
	case "fixed":
		if t.Size < 0 || t.Size > math.MaxInt32 {
			return nil, fmt.Errorf("fixed type of size %d", t.Size)
		}
		return p.define(name, avroFixed(t.Size)), nil
	case "array":
		return p.items(List, t.Items, namespace)
	case "map":
		return p.items(Map, t.Values, namespace)
	}
	return p.lookup(kind, namespace)
}

func (p *avroParser) define(name string, c Codec) Codec {
	p.named[name] = c
	return c
}

// record defines the record before its fields are known, since they may use it.
func (p *avroParser) record(t *avroType, name string) (Codec, error) {
	// Until then its type is a name only, so that types form no circles.
	open := &avroOpen{typ: Type{Kind: Any, Class: name}}
	p.define(name, open)
	c := &avroRecord{typ: Type{Kind: Object, Class: name, Fields: []Field{}}}
	namespace := name[:max(strings.LastIndexByte(name, '.'), 0)]
	for _, f := range t.Fields {
		fc, err := p.parse(f.Type, namespace)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, f.Name, err)
		}
		c.typ.Fields = append(c.typ.Fields, Field{f.Name, fc.Type()})
		c.fields = append(c.fields, fc)
		c.min += minLen(fc)
	}
	c.order = newMemberOrder(c.typ.Fields)
	open.avroRecord = c
	return p.define(name, c), nil
}

// avroOpen is a record as its own fields see it.
type avroOpen struct {
	*avroRecord
	typ Type
}

func (c *avroOpen) Type() *Type { return &c.typ }

// minLen counts a record inside itself as nothing; there is always something around it.
func (c *avroOpen) minLen() int {
	if c.avroRecord == nil {
		return 0
	}
	return c.min
}

func (p *avroParser) enum(name string, symbols []string) Codec {
	if p.plain {
		return plainEnum{avroEnum(name, symbols)}
	}
	return avroEnum(name, symbols)
}

func (p *avroParser) items(kind TypeKind, elem json.RawMessage, namespace string) (Codec, error) {
	e, err := p.parse(elem, namespace)
	if err != nil {
		return nil, err
	}
	c := &avroItems{typ: Type{Kind: kind, Elem: e.Type()}, elem: e, plain: p.plain}
	if kind == Map {
		if c.key = avroStringCodec; p.plain {
			c.key = plainString
		}
		c.typ.Key = c.key.Type()
	}
	return c, nil
}

// union of null and one other type is that type, nullable; any other is Any.
func (p *avroParser) union(branches []json.RawMessage, namespace string) (Codec, error) {
	c := &avroUnion{typ: Type{Kind: Any, Class: "union"}, plain: p.plain}
	var types []*Type
	for _, b := range branches {
		bc, err := p.parse(b, namespace)
		if err != nil {
			return nil, err
		}
		c.branches = append(c.branches, bc)
		if bc != Codec(avroNullCodec) {
			types = append(types, bc.Type())
		}
	}
	if len(types) == 1 {
		c.typ = *types[0]
	}
	c.typ.Nullable = len(types) < len(branches)
	return c, nil
}
