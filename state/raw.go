package state

import "github.com/statebridge/statebridge/state/javaio"

// raw stands for a serializer whose values are not decoded, and whose length is therefore unknown.
type raw struct {
	typ  Type
	hint *hint // how to decode a value that takes all the bytes there are; nil: none
}

// newRaw says which class is not decoded, and why.
func newRaw(class, why string) Codec {
	return &raw{typ: Type{Kind: Raw, Class: class, Why: why}}
}

func (c *raw) Type() *Type   { return &c.typ }
func (c *raw) FixedLen() int { return -1 }

func (c *raw) Skip(r *javaio.Reader) {
	r.Unsupported("%s: %s", c.typ.Class, c.typ.Why)
}

// AppendJSON faults as Skip does: only who knows where the value ends, as Schema.DecodeValue does, can print it whole.
func (c *raw) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	c.Skip(r)
	return appendNull(dst)
}
