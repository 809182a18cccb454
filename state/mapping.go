package state

import "github.com/statebridge/statebridge/state/javaio"

// A mapCodec reads an int32 count and its entries: key, a byte that is 1 for a null value, value.
type mapCodec struct {
	typ        Type
	key, value Codec
}

func newMap(nested []Codec) Codec {
	return &mapCodec{Type{Kind: Map, Key: nested[0].Type(), Elem: nested[1].Type()}, nested[0], nested[1]}
}

func (c *mapCodec) Type() *Type   { return &c.typ }
func (c *mapCodec) FixedLen() int { return -1 }

func (c *mapCodec) Skip(r *javaio.Reader) {
	for range r.Count(1) {
		c.key.Skip(r)
		if !r.Bool() {
			c.value.Skip(r)
		}
		if r.Err() != nil {
			return
		}
	}
}

func (c *mapCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	b, strings := newBag(dst), c.typ.Key.Kind == String
	for range r.Count(1) {
		at := len(dst)
		dst = c.key.AppendJSON(dst, r)
		b.key(dst)
		strings = strings && len(dst) > at && dst[at] == '"'
		if r.Bool() {
			dst = appendNull(dst)
		} else {
			dst = c.value.AppendJSON(dst, r)
		}
		if dst = b.value(dst); full(dst, r) {
			break
		}
	}
	return b.finish(dst, mapShape(strings || len(*b.members) == 0))
}

// mapShape is an object when every key is a string, which an empty map fulfils.
func mapShape(strings bool) shape {
	if strings {
		return objectShape
	}
	return pairsShape
}
