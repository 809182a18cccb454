package state

import (
	"math"

	"github.com/statebridge/statebridge/state/javaio"
)

// Flink writes Avro data in an encoding of its own: numbers of fixed width, big-endian, where Avro has varints.
//
//	int, enum, union's branch: int32 | long: int64 | float, double: IEEE | boolean: a byte | null: nothing
//	bytes, string: int32 length, data | fixed: data | array, map: blocks of varint count and items, up to a count of 0

var (
	avroNullCodec   = &scalar{typ: Type{Kind: Null}, size: -1, width: 0, json: func(dst []byte, _ *javaio.Reader) []byte { return appendNull(dst) }}
	avroStringCodec = &scalar{typ: Type{Kind: String}, size: -1, width: -1, skip: bytesCodec.skip, json: func(dst []byte, r *javaio.Reader) []byte {
		return appendQuoted(dst, r.Take(r.Count(1)))
	}}
)

// avroFixed makes the codec of a fixed type.
func avroFixed(size int) Codec {
	return &scalar{typ: Type{Kind: Bytes}, size: -1, width: size, json: func(dst []byte, r *javaio.Reader) []byte {
		return appendBase64(dst, r.Take(size))
	}}
}

// An avroRecord reads its fields in the writer's order. Its type may hold itself.
type avroRecord struct {
	typ    Type
	fields []Codec
	order  memberOrder
	min    int // bytes at least
}

func (c *avroRecord) Type() *Type   { return &c.typ }
func (c *avroRecord) FixedLen() int { return -1 }
func (c *avroRecord) minLen() int   { return c.min }

func (c *avroRecord) Skip(r *javaio.Reader) {
	if r.Enter() {
		for _, f := range c.fields {
			f.Skip(r)
		}
	}
	r.Leave()
}

func (c *avroRecord) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if !r.Enter() {
		return appendNull(dst)
	}
	dst = c.order.append(append(dst, '{'), r, c)
	r.Leave()
	return dst
}

func (c *avroRecord) appendMember(dst []byte, i int, r *javaio.Reader) []byte {
	return c.fields[i].AppendJSON(dst, r)
}

// An avroUnion reads which branch is stored.
type avroUnion struct {
	typ      Type
	branches []Codec
	plain    bool
}

func (c *avroUnion) Type() *Type   { return &c.typ }
func (c *avroUnion) FixedLen() int { return -1 }

func (c *avroUnion) branch(r *javaio.Reader) Codec {
	i := int64(0)
	if c.plain {
		i = avroZigzag(r)
	} else {
		i = int64(r.Int32())
	}
	if r.Err() == nil && (i < 0 || i >= int64(len(c.branches))) {
		r.Fail("branch %d of a union of %d", i, len(c.branches))
	}
	if r.Err() != nil {
		return avroNullCodec
	}
	return c.branches[i]
}

func (c *avroUnion) Skip(r *javaio.Reader) { c.branch(r).Skip(r) }

func (c *avroUnion) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	return c.branch(r).AppendJSON(dst, r)
}

// An avroItems reads an array, or a map whose keys are strings.
type avroItems struct {
	typ   Type
	key   *scalar // of a map
	elem  Codec
	plain bool
}

func (c *avroItems) Type() *Type   { return &c.typ }
func (c *avroItems) FixedLen() int { return -1 }

// block reads the count of the next block; 0 at the end.
func (c *avroItems) block(r *javaio.Reader) int {
	read, least := r.Uvarint, 4 // of a map's key
	if c.plain {
		read, least = func() uint64 { return plainBlock(r) }, 1
	}
	n := read()
	if c.typ.Kind == List {
		least = minLen(c.elem)
	}
	switch {
	case least == 0 && n > maxEmptyElements:
		r.Unsupported("an array of %d empty elements", n)
		return 0
	case n > math.MaxInt32 || least > 0 && n > uint64(r.Len()/least):
		r.Fail("count %d does not fit %d bytes", n, r.Len())
		return 0
	}
	return int(n)
}

// maxEmptyElements bounds what a few bytes can claim.
const maxEmptyElements = 1000

func (c *avroItems) Skip(r *javaio.Reader) {
	if !r.Enter() {
		return
	}
	defer r.Leave()
	for n := c.block(r); n > 0; n = c.block(r) {
		for range n {
			if c.typ.Kind == Map {
				c.key.Skip(r)
			}
			if c.elem.Skip(r); r.Err() != nil {
				return
			}
		}
	}
}

func (c *avroItems) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	if !r.Enter() {
		return appendNull(dst)
	}
	defer r.Leave()
	if c.typ.Kind == Map {
		return c.appendMap(dst, r)
	}
	dst = append(dst, '[')
	start := len(dst)
	for n := c.block(r); n > 0 && r.Err() == nil; n = c.block(r) {
		for range n {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			if dst = c.elem.AppendJSON(dst, r); full(dst, r) {
				break
			}
		}
	}
	return append(dst, ']')
}

func (c *avroItems) appendMap(dst []byte, r *javaio.Reader) []byte {
	b := newBag(dst)
	for n := c.block(r); n > 0 && r.Err() == nil; n = c.block(r) {
		for range n {
			dst = c.key.json(dst, r)
			b.key(dst)
			if dst = b.value(c.elem.AppendJSON(dst, r)); full(dst, r) {
				break
			}
		}
	}
	return b.finish(dst, objectShape)
}

// readAvro reads the class and the writer's schema.
func readAvro(p *snapshots, class string, version int32) Codec {
	if !p.checkVersion(class, version, 1, 3) {
		return broken
	}
	var runtimeClass, schema string
	switch version {
	case 3: // a schema may be longer than 64 KiB
		runtimeClass, schema = flinkString(p.r), flinkString(p.r)
	case 2:
		runtimeClass, schema = p.r.UTF(), p.r.UTF()
	default:
		schema = p.r.UTF()
	}
	if p.r.Err() != nil {
		return broken
	}
	c, err := parseAvro([]byte(schema))
	if err != nil {
		if h := p.o.Hints.bytes(runtimeClass); h != nil && h.avro != nil {
			return h.avro
		}
		return newRaw(runtimeClass, "Avro schema: "+err.Error())
	}
	return &avroRoot{c, []byte(schema)}
}

// avroEnum makes the codec of an enum.
func avroEnum(name string, symbols []string) *enumCodec {
	c := &enumCodec{typ: Type{Kind: Enum, Class: name, Symbols: symbols}}
	for _, s := range symbols {
		c.quoted = append(c.quoted, appendQuoted(nil, s))
	}
	return c
}
