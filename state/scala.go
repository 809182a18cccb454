package state

import "github.com/statebridge/statebridge/state/javaio"

// readCaseClass reads a Scala case class, a tuple too: fields back to back, as Java tuples have them. Their names are not in
// the snapshot, and hashCode is Scala's own.
func readCaseClass(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	name := p.r.UTF()
	nested := p.nested(-1)
	if p.r.Err() != nil {
		return broken
	}
	c := newTuple(nested)
	c.typ.Class, c.unhashed = name, true
	return c
}

// An optionCodec reads a byte that is 1 when a value follows.
type optionCodec struct {
	typ   Type
	inner Codec
}

func newOption(nested []Codec) Codec {
	c := &optionCodec{*nested[0].Type(), nested[0]}
	c.typ.Nullable = true
	return c
}

func (c *optionCodec) Type() *Type   { return &c.typ }
func (c *optionCodec) FixedLen() int { return -1 }

func (c *optionCodec) Skip(r *javaio.Reader) {
	if r.Bool() {
		c.inner.Skip(r)
	}
}

func (c *optionCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if r.Bool() {
		return c.inner.AppendJSON(dst, r)
	}
	return appendNull(dst)
}
