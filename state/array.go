package state

import "github.com/statebridge/statebridge/state/javaio"

// An arrayCodec reads a primitive array: an int32 count, then elements of one width.
type arrayCodec struct {
	typ  Type
	elem *scalar
}

func primitiveArray(elem *scalar) Codec {
	return &arrayCodec{Type{Kind: List, Elem: &elem.typ}, elem}
}

func (c *arrayCodec) Type() *Type   { return &c.typ }
func (c *arrayCodec) FixedLen() int { return -1 }

func (c *arrayCodec) Skip(r *javaio.Reader) {
	r.Skip(r.Count(c.elem.width) * c.elem.width)
}

func (c *arrayCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	dst = append(dst, '[')
	for i := range r.Count(c.elem.width) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.elem.json(dst, r)
	}
	return append(dst, ']')
}

var bytesCodec = &scalar{
	typ: Type{Kind: Bytes}, size: -1, width: -1,
	skip: func(r *javaio.Reader) { r.Skip(r.Count(1)) },
	json: func(dst []byte, r *javaio.Reader) []byte { return appendBase64(dst, r.Take(r.Count(1))) },
}

// readGenericArray reads the snapshot of Object[]: its elements may be null.
func readGenericArray(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	p.r.UTF() // component class
	nested := p.nested(1)
	if p.r.Err() != nil {
		return broken
	}
	return newSequence(List, nested[0], presentFlag)
}
