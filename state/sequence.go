package state

import "github.com/statebridge/statebridge/state/javaio"

// How the elements of a sequence say that they are null.
type nullFlag uint8

const (
	noFlag      nullFlag = iota // they do not
	absentFlag                  // a byte before each, 0 when the element follows (Set)
	presentFlag                 // a byte before each, 1 when the element follows (Object[])
)

// missing reads the flag of one element.
func (f nullFlag) missing(r *javaio.Reader) bool {
	switch f {
	case absentFlag:
		return r.Bool()
	case presentFlag:
		return !r.Bool()
	}
	return false
}

// A listCodec reads an int32 count and its elements: a List, an array or a Set.
type listCodec struct {
	typ  Type
	elem Codec
	flag nullFlag
	min  int // bytes that an element takes at least
}

func newList(nested []Codec) Codec { return newSequence(List, nested[0], noFlag) }
func newSet(nested []Codec) Codec  { return newSequence(Set, nested[0], absentFlag) }

func newSequence(kind TypeKind, elem Codec, flag nullFlag) Codec {
	c := &listCodec{typ: Type{Kind: kind, Elem: elem.Type()}, elem: elem, flag: flag, min: minLen(elem)}
	if flag != noFlag {
		c.min = 1
	}
	return c
}

// minLen is the least number of bytes of a value: one, but for the few serializers that may write nothing.
func minLen(c Codec) int {
	if m, ok := c.(interface{ minLen() int }); ok {
		return m.minLen()
	}
	return 1
}

func (c *listCodec) Type() *Type   { return &c.typ }
func (c *listCodec) FixedLen() int { return -1 }

func (c *listCodec) Skip(r *javaio.Reader) {
	for range r.Count(c.min) {
		if !c.flag.missing(r) {
			c.elem.Skip(r)
		}
		if r.Err() != nil {
			return
		}
	}
}

func (c *listCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if c.typ.Kind == Set {
		return c.appendSet(dst, r)
	}
	dst = append(dst, '[')
	for i := range r.Count(c.min) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = c.appendElem(dst, r); full(dst, r) {
			break
		}
	}
	return append(dst, ']')
}

func (c *listCodec) appendElem(dst []byte, r *javaio.Reader) []byte {
	if c.flag.missing(r) {
		return appendNull(dst)
	}
	return c.elem.AppendJSON(dst, r)
}

func (c *listCodec) appendSet(dst []byte, r *javaio.Reader) []byte {
	b := newBag(dst)
	for range r.Count(c.min) {
		dst = c.appendElem(dst, r)
		b.key(dst)
		if dst = b.value(dst); full(dst, r) {
			break
		}
	}
	return b.finish(dst, setShape)
}
