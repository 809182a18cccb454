package state

import "github.com/statebridge/statebridge/state/javaio"

// Joins of the DataStream API. A window join keeps the records of both sides in one list, each with a tag of its side; it is shown as an Either is.
type sideCodec struct{ eitherCodec }

func newSides(nested []Codec) Codec {
	return &sideCodec{eitherCodec{Type{Kind: Either, Key: nested[0].Type(), Elem: nested[1].Type()}, nested[0], nested[1]}}
}

// Tags of a side.
const (
	sideOne = 1
	sideTwo = 2
)

// side reads a tag; nil beside a fault.
func (c *sideCodec) side(r *javaio.Reader) (Codec, string) {
	switch tag := r.Uint8(); {
	case r.Err() != nil:
	case tag == sideOne:
		return c.left, `{"left":`
	case tag == sideTwo:
		return c.right, `{"right":`
	default:
		r.Fail("side %d of a join", tag)
	}
	return nil, ""
}

// Skip steps over one record.
func (c *sideCodec) Skip(r *javaio.Reader) {
	if side, _ := c.side(r); side != nil {
		side.Skip(r)
	}
}

// AppendJSON appends one record.
func (c *sideCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	side, head := c.side(r)
	if side == nil {
		return appendNull(dst)
	}
	return append(side.AppendJSON(append(dst, head...), r), '}')
}

// A joinedCodec reads a record that an interval join keeps: whether it has been joined, and the record.
type joinedCodec struct {
	typ    Type
	record Codec
}

func newJoined(nested []Codec) Codec {
	fields := []Field{{"joined", &Type{Kind: Bool}}, {"record", nested[0].Type()}}
	return &joinedCodec{Type{Kind: Object, Class: "BufferEntry", Fields: fields}, nested[0]}
}

func (c *joinedCodec) Type() *Type   { return &c.typ }
func (c *joinedCodec) FixedLen() int { return -1 }

func (c *joinedCodec) Skip(r *javaio.Reader) {
	r.Bool()
	c.record.Skip(r)
}

func (c *joinedCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	dst = appendBool(append(dst, `{"joined":`...), r.Bool())
	return append(c.record.AppendJSON(append(dst, `,"record":`...), r), '}')
}
