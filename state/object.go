package state

import (
	"maps"
	"slices"

	"github.com/statebridge/statebridge/state/javaio"
)

// The flags byte before a POJO says which class its fields are of.
const (
	pojoNull       = 1 // nothing follows
	pojoExact      = 2 // the declared class: per field a byte that is 1 for null, then the value
	pojoSubclass   = 4 // a class name, then what that class's serializer wrote
	pojoRegistered = 8 // a byte that numbers a registered subclass, then what its serializer wrote
)

// An objectCodec reads a POJO or a Java record.
type objectCodec struct {
	typ        Type
	fields     []Codec
	order      memberOrder
	registered []subclass
	others     map[string]*subclass // by class name
	hints      *Hints               // for subclasses that are not in the snapshot
	kryo5      bool
	class      []byte // `"$class":"…",`, where others may stand in its place; else nil
}

type subclass struct {
	tag   []byte // `"$class":"…",`
	codec Codec
}

// readPojo reads the class, its fields, and the subclasses that the job registered or met.
func readPojo(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 2, 2)
	c := &objectCodec{typ: Type{Kind: Object, Class: p.r.UTF(), Nullable: true}, others: map[string]*subclass{}, hints: p.o.Hints, kryo5: p.o.Kryo5}
	p.optionalMap(func(name string, present bool) { c.field(name, p.optional(present, name)) })
	p.optionalMap(func(name string, present bool) {
		c.registered = append(c.registered, c.subclass(name, p.optional(present, name)))
	})
	p.optionalMap(func(name string, present bool) {
		s := c.subclass(name, p.optional(present, name))
		c.others[name] = &s
	})
	if p.r.Err() != nil {
		return broken
	}
	c.addHinted()
	c.arrange()
	return c
}

// addHinted makes the hinted classes that can be subclasses known as such, for columns and for people.
func (c *objectCodec) addHinted() {
	if c.hints == nil {
		return
	}
	for _, class := range slices.Sorted(maps.Keys(c.hints.byClass)) {
		h := c.hints.byClass[class]
		if h.shape != nil && c.others[class] == nil && class != c.typ.Class && h.shape.extends(&c.typ) == nil {
			c.typ.Subclasses = append(c.typ.Subclasses, h.shape.pojos[0].codec.Type())
		}
	}
}

// hinted gives a subclass that only a hint describes; nil with a fault in r when it does not fit.
func (c *objectCodec) hinted(name []byte, r *javaio.Reader) *subclass {
	h := c.hints.find(string(name))
	if h == nil || h.shape == nil {
		r.Unsupported("class %s, a subclass of %s that is not in the snapshot", name, c.typ.Class)
		return nil
	}
	if err := h.shape.extends(&c.typ); err != nil {
		r.Unsupported("class %s, a subclass of %s that is not in the snapshot: %v", name, c.typ.Class, err)
		return nil
	}
	r.Tell(h.Class)
	if c.kryo5 {
		return h.shape.pojos[1]
	}
	return h.shape.pojos[0]
}

// optional reads the framed snapshot of a map entry, if it is there.
func (p *snapshots) optional(present bool, name string) Codec {
	if !present {
		return newRaw(name, "its serializer is not in the snapshot")
	}
	return p.inFrame(p.versioned)
}

func (c *objectCodec) field(name string, codec Codec) {
	t := *codec.Type()
	t.Nullable = true
	c.typ.Fields = append(c.typ.Fields, Field{name, &t})
	c.fields = append(c.fields, codec)
}

func (c *objectCodec) subclass(name string, codec Codec) subclass {
	c.typ.Subclasses = append(c.typ.Subclasses, codec.Type())
	return subclass{classMember(name), codec}
}

func classMember(name string) []byte {
	return append(appendQuoted([]byte(`"$class":`), name), ',')
}

// arrange works out the order of the members; it comes after the last field.
func (c *objectCodec) arrange() {
	c.order = newMemberOrder(c.typ.Fields)
	if len(c.typ.Subclasses) > 0 {
		c.class = classMember(c.typ.Class)
	}
}

func (c *objectCodec) Type() *Type   { return &c.typ }
func (c *objectCodec) FixedLen() int { return -1 }

func (c *objectCodec) Skip(r *javaio.Reader) {
	switch flags := r.Uint8(); {
	case r.Err() != nil || flags&pojoNull != 0:
	case flags&(pojoSubclass|pojoRegistered) != 0:
		if s := c.stored(flags, r); s != nil {
			s.codec.Skip(r)
		}
	default:
		for _, f := range c.fields {
			if !r.Bool() {
				f.Skip(r)
			}
			if r.Err() != nil {
				return
			}
		}
	}
}

func (c *objectCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	flags := r.Uint8()
	switch {
	case r.Err() != nil || flags&pojoNull != 0:
		return appendNull(dst)
	case flags&(pojoSubclass|pojoRegistered) == 0:
		return c.appendFields(append(append(dst, '{'), c.class...), r)
	}
	s := c.stored(flags, r)
	if s == nil {
		return appendNull(dst)
	}
	return s.appendJSON(dst, r)
}

// stored reads which subclass follows; nil with a fault in r when it is not known.
func (c *objectCodec) stored(flags byte, r *javaio.Reader) *subclass {
	if flags&pojoSubclass == 0 {
		tag := int(r.Uint8())
		if tag >= len(c.registered) {
			r.Fail("registered subclass %d of %s, which has %d", tag, c.typ.Class, len(c.registered))
			return nil
		}
		return &c.registered[tag]
	}
	name := r.Take(int(r.Uint16()))
	s := c.others[string(name)]
	if s == nil && r.Err() == nil {
		return c.hinted(name, r)
	}
	return s
}

// appendJSON puts "$class" first among the members of what the subclass's serializer gives.
func (s *subclass) appendJSON(dst []byte, r *javaio.Reader) []byte {
	if o, ok := s.codec.(*objectCodec); ok {
		return o.appendAs(dst, s.tag, r)
	}
	dst = append(append(dst, '{'), s.tag...)
	dst = append(dst, `"$value":`...)
	return append(s.codec.AppendJSON(dst, r), '}')
}

// appendAs prints the object under a tag of the caller's, unless the bytes name yet another class.
func (c *objectCodec) appendAs(dst, tag []byte, r *javaio.Reader) []byte {
	flags := r.Rest()
	if len(flags) > 0 && flags[0]&(pojoNull|pojoSubclass|pojoRegistered) == 0 {
		r.Skip(1)
		return c.appendFields(append(append(dst, '{'), tag...), r)
	}
	return c.AppendJSON(dst, r)
}

// appendFields appends the members and the closing brace; dst ends in an opening brace or a comma.
func (c *objectCodec) appendFields(dst []byte, r *javaio.Reader) []byte {
	return c.order.append(dst, r, c)
}

// appendMember reads the null flag of field i, and its value.
func (c *objectCodec) appendMember(dst []byte, i int, r *javaio.Reader) []byte {
	if r.Bool() {
		return appendNull(dst)
	}
	return c.fields[i].AppendJSON(dst, r)
}
