package state

import (
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// A tupleCodec reads fields back to back; none can be null beyond what its own serializer knows.
type tupleCodec struct {
	typ    Type
	fields []Codec
	size   int
	// unhashed says that hashCode is not that of Flink's tuples.
	unhashed bool
}

var tuple0Codec = fixed(Tuple, 1, func(dst []byte, r *javaio.Reader) []byte { r.Skip(1); return append(dst, '[', ']') })

func readTuple(p *snapshots, class string, version int32) Codec {
	p.outer(class, version)
	p.r.UTF() // tuple class
	nested := p.nested(-1)
	if p.r.Err() != nil {
		return broken
	}
	if len(nested) == 0 {
		return tuple0Codec
	}
	return newTuple(nested)
}

func newTuple(fields []Codec) *tupleCodec {
	c := &tupleCodec{typ: Type{Kind: Tuple, Fields: positions(fields)}, fields: fields}
	for _, f := range fields {
		n := f.FixedLen()
		if n <= 0 {
			c.size = -1
			break
		}
		c.size += n
	}
	return c
}

// positions names fields f0, f1, …
func positions(fields []Codec) []Field {
	named := make([]Field, len(fields))
	for i, f := range fields {
		named[i] = Field{positionName(i), f.Type()}
	}
	return named
}

func positionName(i int) string { return "f" + strconv.Itoa(i) }

func (c *tupleCodec) Type() *Type   { return &c.typ }
func (c *tupleCodec) FixedLen() int { return c.size }

func (c *tupleCodec) Skip(r *javaio.Reader) {
	for _, f := range c.fields {
		f.Skip(r)
	}
}

func (c *tupleCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	dst = append(dst, '[')
	for i, f := range c.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.AppendJSON(dst, r)
	}
	return append(dst, ']')
}

// A rowCodec reads a mask of null bits, the most significant first, then the fields that are not null. The mask starts
// with two bits of row kind when the serializer supports them.
type rowCodec struct {
	typ    Type
	fields []Codec
	kinds  int // bits in the mask before the fields
}

func readRow(p *snapshots, class string, version int32) Codec {
	outer := p.outer(class, version)
	kinds := outer == 3 || outer >= 4 && p.r.Bool()
	nested := p.nested(-1)
	if p.r.Err() != nil {
		return broken
	}
	return newRow(nested, kinds)
}

func newRow(fields []Codec, kinds bool) Codec {
	c := &rowCodec{typ: Type{Kind: Tuple, Fields: positions(fields)}, fields: fields}
	if kinds {
		c.kinds = 2
	}
	for i := range c.typ.Fields {
		t := *c.typ.Fields[i].Type
		t.Nullable = true
		c.typ.Fields[i].Type = &t
	}
	return c
}

func (c *rowCodec) Type() *Type   { return &c.typ }
func (c *rowCodec) FixedLen() int { return -1 }
func (c *rowCodec) minLen() int   { return (len(c.fields) + c.kinds + 7) / 8 }

func (c *rowCodec) null(mask []byte, field int) bool {
	bit := field + c.kinds
	return mask[bit/8]&(0x80>>(bit%8)) != 0
}

func (c *rowCodec) Skip(r *javaio.Reader) {
	mask := r.Take(c.minLen())
	for i, f := range c.fields {
		if r.Err() != nil {
			return
		}
		if !c.null(mask, i) {
			f.Skip(r)
		}
	}
}

func (c *rowCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	mask := r.Take(c.minLen())
	dst = append(dst, '[')
	for i, f := range c.fields {
		if r.Err() != nil {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if c.null(mask, i) {
			dst = appendNull(dst)
			continue
		}
		dst = f.AppendJSON(dst, r)
	}
	return append(dst, ']')
}
