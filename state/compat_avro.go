package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// An avroRoot is the codec of an Avro serializer, which keeps the writer's schema.
type avroRoot struct {
	Codec
	schema []byte
}

func (c *avroRoot) minLen() int { return minLen(c.Codec) }

// avro compares by the rules of schema resolution: what reads the newer schema must be able to read what the older one wrote.
func (c *comparer) avro(path Path, a, b *avroRoot) {
	from := len(c.differences)
	c.avroTypes(path, a.Type(), b.Type())
	writer, err1 := parseAvroNode(a.schema)
	reader, err2 := parseAvroNode(b.schema)
	if err1 != nil || err2 != nil {
		return // both were parsed when the snapshots were read
	}
	r := &avroResolver{records: map[[2]*avroNode]string{}}
	switch why := r.resolve(reader, writer); {
	case why != "":
		c.add(Difference{What: "schemas do not resolve", Path: path, Effect: Incompatible, Why: why})
	case len(c.differences) > from:
		for i := range c.differences[from:] {
			c.differences[from+i].Effect = NeedsMigration
		}
	case !equalSchemas(a.schema, b.schema):
		c.add(Difference{What: "schema changed", Path: path, Effect: NeedsMigration, Why: "in names, defaults or properties only"})
	}
}

// equalSchemas is equality as Avro has it: documentation and aliases do not count.
func equalSchemas(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(withoutDoc(x), withoutDoc(y))
}

func withoutDoc(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutDoc(v[i])
		}
	case map[string]any:
		delete(v, "doc")
		delete(v, "aliases")
		for name := range v {
			if name != "default" {
				v[name] = withoutDoc(v[name])
			}
		}
	}
	return v
}

// avroTypes lists differences; what follows from them, resolution decides.
func (c *comparer) avroTypes(path Path, a, b *Type) {
	switch {
	case a == nil || b == nil:
		return
	case a.Kind != b.Kind:
		what := "type changed"
		if widens(a.Kind, b.Kind) || (a.Kind == Int32 || a.Kind == Int64) && (b.Kind == Float32 || b.Kind == Float64) {
			what = "widened"
		}
		c.add(Difference{What: what, Path: path, Before: a.String(), After: b.String()})
		return
	case a.Kind == Object:
		c.avroFields(path, a, b)
	case a.Kind == Enum:
		c.symbols(path, a.Symbols, b.Symbols, func(string) Verdict { return Compatible })
	}
	c.avroTypes(path+".keys", a.Key, b.Key)
	c.avroTypes(path+"[]", a.Elem, b.Elem)
}

func (c *comparer) avroFields(path Path, a, b *Type) {
	for _, f := range a.Fields {
		at := path + "." + Path(f.Name)
		if j := fieldIndex(b.Fields, f.Name); j >= 0 {
			c.avroTypes(at, f.Type, b.Fields[j].Type)
			continue
		}
		c.add(Difference{What: "field removed", Path: at, Before: f.Type.String()})
	}
	for _, f := range b.Fields {
		if fieldIndex(a.Fields, f.Name) < 0 {
			c.add(Difference{What: "field added", Path: path + "." + Path(f.Name), After: f.Type.String()})
		}
	}
	c.reordered(path, a.Fields, b.Fields)
}

// An avroNode is a schema with all that resolution looks at.
type avroNode struct {
	kind     string // of a type, "union"
	name     string // without namespace
	full     string
	aliases  []string
	fields   []avroNodeField
	symbols  []string
	fallback bool // an enum's default
	size     int
	elem     *avroNode
	branches []*avroNode
}

type avroNodeField struct {
	name     string
	aliases  []string
	fallback bool
	node     *avroNode
}

// avroText is the JSON of a schema.
type avroText struct {
	Type      json.RawMessage
	Name      string
	Namespace *string
	Aliases   []string
	Fields    []struct {
		Name    string
		Aliases []string
		Type    json.RawMessage
		Default json.RawMessage
	}
	Symbols       []string
	Default       json.RawMessage
	Items, Values json.RawMessage
	Size          int
}

type avroNodes struct {
	named map[string]*avroNode
	depth int
}

func parseAvroNode(schema []byte) (*avroNode, error) {
	p := &avroNodes{named: map[string]*avroNode{}}
	return p.parse(schema, "")
}

func (p *avroNodes) parse(schema json.RawMessage, namespace string) (*avroNode, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errAvroDepth
	}
	defer func() { p.depth-- }()
	var name string
	if json.Unmarshal(schema, &name) == nil {
		return p.lookup(name, namespace), nil
	}
	var branches []json.RawMessage
	if json.Unmarshal(schema, &branches) == nil {
		n := &avroNode{kind: "union"}
		for _, b := range branches {
			branch, err := p.parse(b, namespace)
			if err != nil {
				return nil, err
			}
			n.branches = append(n.branches, branch)
		}
		return n, nil
	}
	var t avroText
	if err := json.Unmarshal(schema, &t); err != nil {
		return nil, err
	}
	return p.object(&t, namespace)
}

func (p *avroNodes) lookup(name, namespace string) *avroNode {
	for _, n := range []string{fullName(name, namespace), name} {
		if found := p.named[n]; found != nil {
			return found
		}
	}
	return &avroNode{kind: name}
}

func (p *avroNodes) object(t *avroText, namespace string) (_ *avroNode, err error) {
	var kind string
	if json.Unmarshal(t.Type, &kind) != nil {
		return p.parse(t.Type, namespace)
	}
	if t.Namespace != nil {
		namespace = *t.Namespace
	}
	n := &avroNode{kind: kind, aliases: t.Aliases, symbols: t.Symbols, fallback: t.Default != nil, size: t.Size}
	n.full = fullName(t.Name, namespace)
	i := strings.LastIndexByte(n.full, '.')
	n.name, namespace = n.full[i+1:], n.full[:max(i, 0)]
	switch kind {
	case "array":
		n.elem, err = p.parse(t.Items, namespace)
	case "map":
		n.elem, err = p.parse(t.Values, namespace)
	case "enum", "fixed":
		p.named[n.full] = n
	case "record", "error":
		n.kind = "record"
		p.named[n.full] = n
		for _, f := range t.Fields {
			node, err := p.parse(f.Type, namespace)
			if err != nil {
				return nil, err
			}
			n.fields = append(n.fields, avroNodeField{f.Name, f.Aliases, f.Default != nil, node})
		}
	default:
		return p.lookup(kind, namespace), nil
	}
	return n, err
}

// An avroResolver checks that data of one schema can be read with another. It keeps what it found about pairs of records; one inside itself
// counts as resolved meanwhile.
type avroResolver struct{ records map[[2]*avroNode]string }

// promotions of the writer's type to the reader's.
var avroPromotions = map[string][]string{
	"int": {"long", "float", "double"}, "long": {"float", "double"}, "float": {"double"}, "string": {"bytes"}, "bytes": {"string"},
}

// resolve says why it does not work; "" if it does.
func (r *avroResolver) resolve(reader, writer *avroNode) string {
	switch {
	case writer.kind == "union":
		for _, b := range writer.branches {
			if why := r.resolve(reader, b); why != "" {
				return why
			}
		}
		return ""
	case reader.kind == "union":
		for _, b := range reader.branches {
			if r.resolve(b, writer) == "" {
				return ""
			}
		}
		return "no branch of the union takes a " + writer.title()
	case reader.kind != writer.kind:
		if slices.Contains(avroPromotions[writer.kind], reader.kind) {
			return ""
		}
		return fmt.Sprintf("a %s does not become a %s", writer.title(), reader.title())
	}
	return r.same(reader, writer)
}

func (n *avroNode) title() string {
	if n.name != "" {
		return n.kind + " " + n.full
	}
	return n.kind
}

// same resolves types of one kind.
func (r *avroResolver) same(reader, writer *avroNode) string {
	named := reader.kind == "record" || reader.kind == "enum" || reader.kind == "fixed"
	if named && reader.name != writer.name && !slices.Contains(reader.aliases, writer.full) {
		return fmt.Sprintf("%s is not %s", writer.title(), reader.title())
	}
	switch reader.kind {
	case "array", "map":
		return r.resolve(reader.elem, writer.elem)
	case "fixed":
		if reader.size != writer.size {
			return fmt.Sprintf("%s has %d bytes, not %d", writer.title(), writer.size, reader.size)
		}
	case "enum":
		for _, s := range writer.symbols {
			if !reader.fallback && !slices.Contains(reader.symbols, s) {
				return fmt.Sprintf("%s lost the constant %s and has no default", reader.title(), s)
			}
		}
	case "record":
		return r.record(reader, writer)
	}
	return ""
}

func (r *avroResolver) record(reader, writer *avroNode) string {
	pair := [2]*avroNode{reader, writer}
	if why, ok := r.records[pair]; ok {
		return why
	}
	r.records[pair] = ""
	r.records[pair] = r.fields(reader, writer)
	return r.records[pair]
}

func (r *avroResolver) fields(reader, writer *avroNode) string {
	for _, f := range reader.fields {
		i := slices.IndexFunc(writer.fields, func(w avroNodeField) bool { return w.name == f.name || slices.Contains(f.aliases, w.name) })
		switch {
		case i >= 0:
			if why := r.resolve(f.node, writer.fields[i].node); why != "" {
				return "field " + f.name + ": " + why
			}
		case !f.fallback:
			return "field " + f.name + " has no default"
		}
	}
	return ""
}
