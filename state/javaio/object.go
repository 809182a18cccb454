package javaio

// Java serialization, as much of it as Flink's snapshots hold. A stream is self-delimiting and has no length before it,
// so it must be read to find where it ends:
//
//	| AC ED 00 05 | one object: a tag, then what the tag says |

// Object is a deserialized object, array or enum constant.
type Object struct {
	Class    string
	Fields   map[string]any // of all its classes: nil, bool, int64, float64, string, *Object or Class
	Written  []any          // what writeObject added: []byte blocks and objects
	Elements []any          // of an array; of byte[] one []byte
	Constant string         // of an enum
}

// Class is a class as a value.
type Class string

// Field gives a field's value; nil where there is none.
func (o *Object) Field(name string) any {
	if o == nil {
		return nil
	}
	return o.Fields[name]
}

const (
	tcNull        = 0x70
	tcReference   = 0x71
	tcClassDesc   = 0x72
	tcObject      = 0x73
	tcString      = 0x74
	tcArray       = 0x75
	tcClass       = 0x76
	tcBlock       = 0x77
	tcEndBlock    = 0x78
	tcReset       = 0x79
	tcLongBlock   = 0x7A
	tcLongString  = 0x7C
	tcProxyDesc   = 0x7D
	tcEnum        = 0x7E
	baseHandle    = 0x7E0000
	streamMagic   = 0xACED0005
	maxNesting    = 200
	flagWrite     = 1
	flagSerial    = 2
	flagExternal  = 4
	flagBlockData = 8
)

// Object reads one Java serialization stream: nil, a string, a Class or an *Object. A fault is left in r.
func (r *Reader) Object() any {
	if m := r.Uint32(); r.Err() == nil && m != streamMagic {
		r.Fail("a Java serialization stream starts with %#x", m)
	}
	s := &objects{Reader: r}
	return s.value(r.Uint8())
}

// objects reads one stream: later objects may refer to earlier ones by number.
type objects struct {
	*Reader
	handles []any
	depth   int
}

// A classDesc says how the fields of one class are laid out.
type classDesc struct {
	name   string
	flags  uint8
	fields []fieldDesc
	super  *classDesc
}

type fieldDesc struct {
	code byte // B C D F I J S Z, or L and [ for objects
	name string
}

func (s *objects) handle(v any) int {
	s.handles = append(s.handles, v)
	return len(s.handles) - 1
}

// value reads what a tag stands before.
func (s *objects) value(tag uint8) any {
	if s.depth++; s.depth > maxNesting {
		s.Fail("objects nest deeper than %d", maxNesting)
	}
	defer func() { s.depth-- }()
	if s.Err() != nil {
		return nil
	}
	switch tag {
	case tcNull:
		return nil
	case tcReference:
		return s.reference()
	case tcClassDesc, tcProxyDesc:
		return s.describe(tag)
	case tcObject:
		return s.object()
	case tcString, tcLongString:
		return s.text(tag)
	case tcArray:
		return s.array()
	case tcClass:
		d := s.desc()
		c := Class(d.className())
		s.handle(c)
		return c
	case tcEnum:
		return s.enum()
	case tcReset:
		s.handles = s.handles[:0]
		return s.value(s.Uint8())
	}
	s.Unsupported("Java serialization: tag %#x", tag)
	return nil
}

func (s *objects) reference() any {
	n := int(s.Int32()) - baseHandle
	if s.Err() != nil {
		return nil
	}
	if n < 0 || n >= len(s.handles) {
		s.Fail("reference to object %d of %d", n, len(s.handles))
		return nil
	}
	return s.handles[n]
}

func (s *objects) text(tag uint8) any {
	var t string
	if tag == tcString {
		t = s.UTF()
	} else {
		n := s.Int64()
		if s.Err() == nil && (n < 0 || n > int64(s.Len())) {
			s.Fail("a string of %d bytes", n)
		}
		b, ok := AppendModifiedUTF8(nil, s.Take(int(n)))
		if !ok {
			s.Fail("malformed modified UTF-8")
		}
		t = string(b)
	}
	s.handle(t)
	return t
}

// desc reads a class description; nil stands for none.
func (s *objects) desc() *classDesc {
	v := s.value(s.Uint8())
	d, ok := v.(*classDesc)
	if v != nil && !ok {
		s.Fail("no class description")
	}
	return d
}

func (d *classDesc) className() string {
	if d == nil {
		return ""
	}
	return d.name
}

func (s *objects) describe(tag uint8) any {
	d := &classDesc{}
	if tag == tcProxyDesc {
		s.handle(d)
		d.flags = flagSerial
		for range s.Count(2) {
			d.name = s.UTF()
		}
	} else {
		d.name = s.UTF()
		s.Skip(8) // serialVersionUID
		s.handle(d)
		d.flags = s.Uint8()
		s.describeFields(d)
	}
	s.annotations()
	d.super = s.desc()
	return d
}

func (s *objects) describeFields(d *classDesc) {
	for range s.Uint16() {
		f := fieldDesc{code: s.Uint8(), name: s.UTF()}
		if f.code == 'L' || f.code == '[' {
			s.value(s.Uint8())
		}
		if s.Err() != nil {
			return
		}
		d.fields = append(d.fields, f)
	}
}

// annotations reads blocks and objects up to their end.
func (s *objects) annotations() []any {
	var all []any
	for s.Err() == nil {
		switch tag := s.Uint8(); tag {
		case tcEndBlock:
			return all
		case tcBlock:
			all = append(all, s.Take(int(s.Uint8())))
		case tcLongBlock:
			all = append(all, s.Take(s.Count(1)))
		default:
			all = append(all, s.value(tag))
		}
	}
	return nil
}

func (s *objects) object() any {
	d := s.desc()
	o := &Object{Class: d.className(), Fields: map[string]any{}}
	s.handle(o)
	s.fill(o, d, 0)
	return o
}

// fill reads the data of d, its superclass first.
func (s *objects) fill(o *Object, d *classDesc, level int) {
	if d == nil || s.Err() != nil {
		return
	}
	if level > maxNesting {
		s.Fail("classes inherit deeper than %d", maxNesting)
		return
	}
	s.fill(o, d.super, level+1)
	switch {
	case d.flags&flagSerial != 0:
		for _, f := range d.fields {
			o.Fields[f.name] = s.field(f.code)
		}
		if d.flags&flagWrite != 0 {
			o.Written = append(o.Written, s.annotations()...)
		}
	case d.flags&flagExternal != 0 && d.flags&flagBlockData != 0:
		o.Written = append(o.Written, s.annotations()...)
	case d.flags&flagExternal != 0:
		s.Unsupported("Java serialization: %s is externalizable without blocks", d.name)
	}
}

func (s *objects) field(code byte) any {
	switch code {
	case 'B':
		return int64(s.Int8())
	case 'C':
		return int64(s.Uint16())
	case 'D':
		return s.Float64()
	case 'F':
		return float64(s.Float32())
	case 'I':
		return int64(s.Int32())
	case 'J':
		return s.Int64()
	case 'S':
		return int64(s.Int16())
	case 'Z':
		return s.Bool()
	case 'L', '[':
		return s.value(s.Uint8())
	}
	s.Fail("field of type %q", code)
	return nil
}

func (s *objects) array() any {
	d := s.desc()
	o := &Object{Class: d.className()}
	s.handle(o)
	if len(o.Class) < 2 {
		s.Fail("array of class %q", o.Class)
		return o
	}
	if o.Class[1] == 'B' {
		o.Elements = []any{s.Take(s.Count(1))}
		return o
	}
	for range s.Count(1) {
		if s.Err() != nil {
			break
		}
		o.Elements = append(o.Elements, s.field(o.Class[1]))
	}
	return o
}

func (s *objects) enum() any {
	d := s.desc()
	o := &Object{Class: d.className()}
	s.handle(o)
	o.Constant, _ = s.value(s.Uint8()).(string)
	return o
}
