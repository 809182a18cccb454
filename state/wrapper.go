package state

import (
	"slices"

	"github.com/statebridge/statebridge/state/javaio"
)

// A nullableCodec reads a byte that is 1 for null; then padding zeros stand in the place of the value where the
// serializer has a fixed length.
type nullableCodec struct {
	typ     Type
	inner   Codec
	padding int
}

func readNullable(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	padding := int(p.r.Int32())
	nested := p.nested(1)
	if p.r.Err() == nil && padding < 0 {
		p.r.Fail("nullable serializer with a padding of %d", padding)
	}
	if p.r.Err() != nil {
		return broken
	}
	c := &nullableCodec{typ: *nested[0].Type(), inner: nested[0], padding: padding}
	c.typ.Nullable = true
	return c
}

func (c *nullableCodec) Type() *Type { return &c.typ }

func (c *nullableCodec) FixedLen() int {
	if c.padding > 0 {
		return 1 + c.padding
	}
	return -1
}

func (c *nullableCodec) Skip(r *javaio.Reader) {
	if r.Bool() {
		r.Skip(c.padding)
		return
	}
	c.inner.Skip(r)
}

func (c *nullableCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if r.Bool() {
		r.Skip(c.padding)
		return appendNull(dst)
	}
	return c.inner.AppendJSON(dst, r)
}

// An eitherCodec reads a byte that is 1 for left, then the value.
type eitherCodec struct {
	typ         Type
	left, right Codec
}

func newEither(nested []Codec) Codec {
	return &eitherCodec{Type{Kind: Either, Key: nested[0].Type(), Elem: nested[1].Type()}, nested[0], nested[1]}
}

func (c *eitherCodec) Type() *Type   { return &c.typ }
func (c *eitherCodec) FixedLen() int { return -1 }

func (c *eitherCodec) Skip(r *javaio.Reader) {
	if r.Bool() {
		c.left.Skip(r)
		return
	}
	c.right.Skip(r)
}

func (c *eitherCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if r.Bool() {
		return append(c.left.AppendJSON(append(dst, `{"left":`...), r), '}')
	}
	return append(c.right.AppendJSON(append(dst, `{"right":`...), r), '}')
}

// An enumCodec reads an index into the constants that the snapshot lists, whatever order the class has now.
type enumCodec struct {
	typ    Type
	quoted [][]byte
}

func readEnum(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 3, 3)
	c := &enumCodec{typ: Type{Kind: Enum, Class: p.r.UTF()}}
	for range p.r.Count(2) {
		name := p.r.UTF()
		c.typ.Symbols = append(c.typ.Symbols, name)
		c.quoted = append(c.quoted, appendQuoted(nil, name))
	}
	return c
}

func (c *enumCodec) Type() *Type           { return &c.typ }
func (c *enumCodec) FixedLen() int         { return 4 }
func (c *enumCodec) Skip(r *javaio.Reader) { r.Skip(4) }

func (c *enumCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	i := int(r.Int32())
	if i < 0 || i >= len(c.quoted) {
		r.Fail("constant %d of %s, which has %d", i, c.typ.Class, len(c.quoted))
		return appendNull(dst)
	}
	return append(dst, c.quoted[i]...)
}

// index is the position of a constant's name, or -1.
func (c *enumCodec) index(name string) int { return slices.Index(c.typ.Symbols, name) }

// A ttlCodec reads the time of last access, then the user's value; its type and its JSON are the user's.
type ttlCodec struct{ inner Codec }

func newTTL(nested []Codec) Codec { return &ttlCodec{nested[1]} }

func (c *ttlCodec) Type() *Type { return c.inner.Type() }

func (c *ttlCodec) FixedLen() int {
	if n := c.inner.FixedLen(); n >= 0 {
		return 8 + n
	}
	return -1
}

func (c *ttlCodec) Skip(r *javaio.Reader) {
	r.Skip(8)
	c.inner.Skip(r)
}

func (c *ttlCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	r.Skip(8)
	return c.inner.AppendJSON(dst, r)
}

// readTTLAware reads a wrapper that changes the snapshot only, not the bytes of values.
func readTTLAware(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 1, 1)
	p.r.Bool()
	return p.versioned()
}

// A timerCodec reads the element of a timer queue: the timestamp with its sign flipped, key, namespace.
type timerCodec struct {
	typ            Type
	key, namespace Codec
}

func newTimer(nested []Codec) Codec {
	return &timerCodec{Type{Kind: Int64}, nested[0], nested[1]}
}

func (c *timerCodec) Type() *Type { return &c.typ }

func (c *timerCodec) FixedLen() int {
	k, n := c.key.FixedLen(), c.namespace.FixedLen()
	if k < 0 || n < 0 {
		return -1
	}
	return 8 + k + n
}

func (c *timerCodec) Skip(r *javaio.Reader) {
	r.Skip(8)
	c.key.Skip(r)
	c.namespace.Skip(r)
}

// AppendJSON gives the timestamp alone.
func (c *timerCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	dst = appendTimestampKey(dst, r)
	c.key.Skip(r)
	c.namespace.Skip(r)
	return dst
}
