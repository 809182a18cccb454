package javaobj

import (
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	magic      = 0xACED0005 // with version 5
	baseHandle = 0x7E0000

	tagNull       = 0x70
	tagReference  = 0x71
	tagClassDesc  = 0x72
	tagObject     = 0x73
	tagString     = 0x74
	tagArray      = 0x75
	tagClass      = 0x76
	tagBlock      = 0x77
	tagEnd        = 0x78
	tagReset      = 0x79
	tagLongBlock  = 0x7A
	tagException  = 0x7B
	tagLongString = 0x7C
	tagProxy      = 0x7D
	tagEnum       = 0x7E

	flagWriteObject    = 1
	flagSerializable   = 2
	flagExternalizable = 4
	flagBlockData      = 8

	maxDepth  = 128     // of nested objects; a RowType needs about six a level
	maxValues = 1 << 20 // a class without fields takes part in an object and costs no byte, so bytes alone do not bound the graph
)

// Parse reads one stream from r, header included, and stops behind its object. A fault is left in r.
func Parse(r *javaio.Reader) Value {
	p := parser{r: r}
	if m := r.Uint32(); r.Err() == nil && m != magic {
		r.Fail("no Java serialization stream: starts with %08X", m)
	}
	v := p.object(0)
	if r.Err() != nil {
		return nil
	}
	return v
}

type parser struct {
	r       *javaio.Reader
	handles []Value
	values  int
}

func (p *parser) ok() bool { return p.r.Err() == nil }

// spend counts n values against the bound.
func (p *parser) spend(n int) bool {
	if p.values += n; p.values > maxValues {
		p.r.Fail("Java object graph of more than %d values", maxValues)
	}
	return p.ok()
}

func (p *parser) handle(v Value) { p.handles = append(p.handles, v) }

// object reads anything that may stand where an object is expected.
func (p *parser) object(depth int) Value {
	return p.tagged(p.r.Uint8(), depth)
}

func (p *parser) tagged(tag uint8, depth int) Value {
	if !p.spend(1) {
		return nil
	}
	if depth > maxDepth {
		p.r.Fail("Java objects nested more than %d deep", maxDepth)
		return nil
	}
	switch tag {
	case tagNull:
		return nil
	case tagReference:
		return p.reference()
	case tagClassDesc, tagProxy:
		return p.describe(tag, depth)
	case tagObject:
		return p.instance(depth)
	case tagString, tagLongString:
		return p.text(tag)
	case tagArray:
		return p.array(depth)
	case tagClass:
		c := p.class(depth + 1)
		p.handle(c)
		return c
	case tagEnum:
		return p.enum(depth)
	case tagException:
		p.r.Unsupported("an exception inside a Java serialization stream")
	default:
		p.r.Fail("unknown tag 0x%02X in a Java serialization stream", tag)
	}
	return nil
}

func (p *parser) reference() Value {
	n := int64(p.r.Int32()) - baseHandle
	if !p.ok() {
		return nil
	}
	if n < 0 || n >= int64(len(p.handles)) {
		p.r.Fail("Java reference to object %d of %d", n, len(p.handles))
		return nil
	}
	return p.handles[n]
}

func (p *parser) text(tag uint8) Value {
	if tag == tagString {
		s := p.r.UTF()
		p.handle(s)
		return s
	}
	n := p.r.Int64()
	if p.ok() && (n < 0 || n > int64(p.r.Len())) {
		p.r.Fail("Java string of %d bytes, %d left", n, p.r.Len())
	}
	b, ok := javaio.AppendModifiedUTF8(nil, p.r.Take(int(n)))
	if !ok {
		p.r.Fail("malformed modified UTF-8")
	}
	p.handle(string(b))
	return string(b)
}

func (p *parser) enum(depth int) Value {
	e := &Enum{Class: p.class(depth + 1)}
	p.handle(e)
	name, ok := p.object(depth + 1).(string)
	if !ok {
		p.r.Fail("Java enum constant without a name")
	}
	e.Name = name
	return e
}

func (p *parser) array(depth int) Value {
	a := &Array{Class: p.class(depth + 1)}
	p.handle(a)
	if p.ok() && (a.Class == nil || len(a.Class.Name) < 2 || a.Class.Name[0] != '[') {
		p.r.Fail("Java array of a class that is none")
	}
	if !p.ok() {
		return nil
	}
	if size := primitiveSize(a.Class.Name[1]); size > 0 {
		a.Len = p.r.Count(size)
		a.Raw = append([]byte{}, p.r.Take(a.Len*size)...)
		return a
	}
	a.Len = p.r.Count(1)
	if !p.spend(a.Len) {
		return nil
	}
	a.Elements = make([]Value, 0, a.Len)
	for i := 0; i < a.Len && p.ok(); i++ {
		a.Elements = append(a.Elements, p.object(depth+1))
	}
	return a
}

func (p *parser) instance(depth int) Value {
	o := &Object{Class: p.class(depth + 1)}
	p.handle(o)
	if p.ok() && o.Class == nil {
		p.r.Fail("Java object without a class")
	}
	if !p.ok() {
		return nil
	}
	for _, c := range o.Class.hierarchy() {
		if !p.spend(1 + len(c.Fields)) {
			return nil
		}
		o.Parts = append(o.Parts, p.part(c, depth))
	}
	return o
}

// hierarchy lists c and what it extends, the topmost first.
func (c *Class) hierarchy() []*Class {
	n := 0
	for s := c; s != nil; s = s.Super {
		n++
	}
	out := make([]*Class, n)
	for s := c; s != nil; s = s.Super {
		n--
		out[n] = s
	}
	return out
}

func (p *parser) part(c *Class, depth int) Part {
	part := Part{Class: c}
	switch {
	case c.Flags&flagExternalizable != 0:
		if c.Flags&flagBlockData == 0 {
			p.r.Unsupported("externalizable class %s in protocol version 1, whose data has no end", c.Name)
			return part
		}
		part.Annotations = p.annotations(depth)
		return part
	case c.Flags&flagSerializable == 0 && len(c.Interfaces) == 0 && len(c.Fields) > 0:
		p.r.Fail("fields of class %s, which is not serializable", c.Name)
		return part
	}
	part.Values = make([]Value, len(c.Fields))
	for i, f := range c.Fields {
		if !p.ok() {
			return part
		}
		part.Values[i] = p.field(f.Code, depth)
	}
	if c.Flags&flagWriteObject != 0 {
		part.Annotations = p.annotations(depth)
	}
	return part
}

func (p *parser) field(code byte, depth int) Value {
	switch code {
	case 'B':
		return p.r.Int8()
	case 'C':
		return p.r.Uint16()
	case 'D':
		return p.r.Float64()
	case 'F':
		return p.r.Float32()
	case 'I':
		return p.r.Int32()
	case 'J':
		return p.r.Int64()
	case 'S':
		return p.r.Int16()
	case 'Z':
		return p.r.Bool()
	}
	return p.object(depth + 1) // L and [, the only others that describe lets pass
}

func primitiveSize(code byte) int {
	switch code {
	case 'B', 'Z':
		return 1
	case 'C', 'S':
		return 2
	case 'F', 'I':
		return 4
	case 'D', 'J':
		return 8
	}
	return 0
}

// annotations reads blocks and objects up to the end mark.
func (p *parser) annotations(depth int) []Value {
	var out []Value
	for p.ok() {
		switch tag := p.r.Uint8(); tag {
		case tagEnd:
			return out
		case tagBlock:
			out = append(out, p.block(int(p.r.Uint8())))
		case tagLongBlock:
			out = append(out, p.block(p.r.Count(1)))
		case tagReset:
			p.handles = nil
		default:
			out = append(out, p.tagged(tag, depth+1))
		}
	}
	return nil
}

func (p *parser) block(n int) Block {
	p.spend(1)
	return append(Block{}, p.r.Take(n)...)
}
