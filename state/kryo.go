package state

import (
	"slices"
	"sync"

	"github.com/statebridge/statebridge/state/javaio"
)

// Kryo writes a class before each object, and numbers both classes and objects, so that a second mention is a reference.
// Nothing in the bytes says how long a value is or which fields a class has:
//
//	class: varint 0 null | 1 by name: varint number [name at its first use] | 2 + id
//	mark:  varint 0 null | 1 a new object follows | 2 + number of an earlier object
//	value: class, mark unless the class is a boxed primitive, data
//
// Flink 1.x has Kryo 2.24, Flink 2.x Kryo 5.6: the same outline, other data.
type kryoCodec struct {
	typ     Type
	version *kryoVersion
	ids     []*kryoType // by id
	// replaced are classes for which, and for whose subclasses, the job set a default serializer.
	replaced []string
	hints    *Hints
}

// readKryo reads the declared class and the classes that have ids.
func readKryo(p *snapshots, class string, version int32) Codec {
	p.checkVersion(class, version, 2, 2)
	c := &kryoCodec{version: &kryo24, hints: p.o.Hints}
	if p.o.Kryo5 {
		c.version = &kryo5
	}
	declared := p.r.UTF()
	c.ids = slices.Clone(c.version.ids)
	p.optionalMap(func(name string, present bool) { p.registration(c, name, present) })
	for range 2 { // default serializers, as objects and as classes
		p.optionalMap(func(name string, present bool) {
			c.replaced = append(c.replaced, name)
			if present {
				p.r.Skip(p.r.Count(1))
			}
		})
	}
	c.typ = c.declared(declared)
	for i, t := range c.ids {
		if t != nil {
			c.ids[i] = c.own(t)
		}
	}
	return c
}

const (
	kryoPlain    = 0 // registered without a serializer
	kryoClass    = 1
	kryoInstance = 2
)

// registration gives a class the next id, unless it has one and no serializer of its own.
func (p *snapshots) registration(c *kryoCodec, name string, present bool) {
	if !present {
		c.ids = append(c.ids, unknownKryo(name, "its registration is not in the snapshot"))
		return
	}
	n := p.r.Count(1)
	r := javaio.NewReader(p.r.File(), p.r.Offset(), p.r.Take(n))
	class, kind := r.UTF(), r.Int32()
	if p.r.SetErr(r.Err()); p.r.Err() != nil {
		return
	}
	switch {
	case kind != kryoPlain:
		c.ids = append(c.ids, c.registered(class))
	case !slices.ContainsFunc(c.ids, func(t *kryoType) bool { return t != nil && t.name == class }):
		c.ids = append(c.ids, c.byName(class))
	}
}

func (c *kryoCodec) Type() *Type   { return &c.typ }
func (c *kryoCodec) FixedLen() int { return -1 }

func (c *kryoCodec) Skip(r *javaio.Reader) {
	k := newKryoReader(c, r)
	k.skipping = true
	k.scratch = k.classAndObject(k.scratch[:0])
	k.release()
}

func (c *kryoCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	k := newKryoReader(c, r)
	dst = k.classAndObject(dst)
	k.release()
	return dst
}

func (c *kryoCodec) appendWhole(dst []byte, r *javaio.Reader) []byte {
	k := newKryoReader(c, r)
	k.framed = true
	dst = k.classAndObject(dst)
	k.release()
	return dst
}

// A kryoReader reads one value: a graph of objects with numbers of its own.
type kryoReader struct {
	*javaio.Reader
	codec    *kryoCodec
	whole    []byte // the value, and whatever follows it
	names    []*kryoType
	objects  []kryoObject
	named    int // names met so far; fewer than len(names) while an object is read again
	begun    int // objects met so far, likewise
	depth    int
	expanded int          // bytes of JSON that references gave
	skipping bool         // the JSON is thrown away, so references need not be followed
	framed   bool         // the value takes all the bytes that are left
	generic  kryoGenerics // of the field whose value comes next
	current  kryoGenerics // of the collection whose head comes next
	scratch  []byte
	text     []byte
}

// A kryoObject is where the data of a numbered object stand, so that a reference can read them again.
type kryoObject struct {
	at    int // in whole
	typ   *kryoType
	named int  // names met before it
	open  bool // its end is not reached: a reference to it is a cycle

	generic kryoGenerics
}

const (
	maxKryoDepth    = 200
	maxKryoExpanded = 16 << 20
)

var kryoPool = sync.Pool{New: func() any { return new(kryoReader) }}

func newKryoReader(c *kryoCodec, r *javaio.Reader) *kryoReader {
	k := kryoPool.Get().(*kryoReader)
	*k = kryoReader{Reader: r, codec: c, whole: r.Rest(), names: k.names[:0], objects: k.objects[:0], scratch: k.scratch, text: k.text}
	return k
}

// maxKept bounds the buffers that stay in the pool.
const maxKept = 1 << 20

func (k *kryoReader) release() {
	k.Reader, k.codec, k.whole = nil, nil, nil
	if cap(k.scratch) <= maxKept && cap(k.text) <= maxKept && cap(k.objects) <= maxKept/32 {
		kryoPool.Put(k)
	}
}

// varint reads an unsigned number of 32 bits.
func (k *kryoReader) varint() int {
	v := k.Uvarint()
	if v > 1<<32-1 {
		k.Fail("number longer than 32 bits")
		return 0
	}
	return int(v)
}

// count reads a number of items, each of a byte at least.
func (k *kryoReader) count(n int) int {
	if k.Err() == nil && (n < 0 || n > k.Len()) {
		k.Fail("count %d does not fit %d bytes", n, k.Len())
	}
	if k.Err() != nil {
		return 0
	}
	return n
}

// class reads a class; nil stands for a null object, or a fault.
func (k *kryoReader) class() *kryoType {
	switch id := k.varint(); {
	case k.Err() != nil || id == 0:
		return nil
	case id == 1:
		return k.namedClass()
	case id-2 < len(k.codec.ids) && k.codec.ids[id-2] != nil:
		return k.codec.ids[id-2]
	default:
		k.Unsupported("Kryo class id %d is not in the snapshot", id-2)
		return nil
	}
}

func (k *kryoReader) namedClass() *kryoType {
	n := k.varint()
	switch {
	case k.Err() != nil:
		return nil
	case n < k.named:
		return k.names[n]
	case n > k.named:
		k.Fail("class name %d after %d names", n, k.named)
		return nil
	}
	name, _ := k.string(k.text[:0])
	k.text = name
	if k.named++; k.named > len(k.names) {
		k.names = append(k.names, k.codec.own(k.codec.byNameBytes(name)))
	}
	return k.names[n]
}

// classAndObject reads a value of any class.
func (k *kryoReader) classAndObject(dst []byte) []byte {
	dst, _ = k.value(dst)
	return dst
}

// value also gives the class of the value, nil for null.
func (k *kryoReader) value(dst []byte) ([]byte, *kryoType) {
	t := k.class()
	if t == nil {
		return appendNull(dst), nil
	}
	return k.object(dst, t, false), t
}

// object reads a value whose class is known.
func (k *kryoReader) object(dst []byte, t *kryoType, mayBeNull bool) []byte {
	bare := t.unmarked || t.constants != nil && k.codec.version.little // a constant of an enum tells a null itself
	if (bare || t.read == nil) && !mayBeNull {                         // what is not known may have no mark
		return k.data(dst, t)
	}
	switch mark := k.varint(); {
	case k.Err() != nil || mark == 0:
		return appendNull(dst)
	case bare || t.read == nil:
		return k.data(dst, t)
	case mark == 1:
		return k.begin(dst, t)
	default:
		return k.reference(dst, mark-2)
	}
}

// begin numbers a new object and reads it.
func (k *kryoReader) begin(dst []byte, t *kryoType) []byte {
	o := kryoObject{at: len(k.whole) - k.Len(), typ: t, named: k.named, open: true, generic: k.generic}
	n := k.begun
	if n == len(k.objects) {
		k.objects = append(k.objects, o)
	} else {
		k.objects[n] = o
	}
	k.begun++
	dst = k.data(dst, t)
	k.objects[n].open = false
	return dst
}

func (k *kryoReader) data(dst []byte, t *kryoType) []byte {
	if t.read == nil {
		k.Unsupported("Kryo class %s: %s", t.name, t.why)
		return appendNull(dst)
	}
	if k.depth++; k.depth > maxKryoDepth {
		k.Fail("objects nest deeper than %d", maxKryoDepth)
	}
	if k.Err() != nil {
		return appendNull(dst)
	}
	generic := k.generic
	if k.generic = (kryoGenerics{}); generic != k.generic && !k.take(generic, t) {
		return appendNull(dst)
	}
	dst = t.read(k, dst, t)
	k.depth--
	return dst
}

// reference prints object n again, by reading its bytes again.
func (k *kryoReader) reference(dst []byte, n int) []byte {
	switch {
	case n >= k.begun:
		k.Fail("reference to object %d of %d", n, k.begun)
		return appendNull(dst)
	case k.objects[n].open:
		k.Unsupported("an object that holds itself")
		return appendNull(dst)
	case k.skipping:
		return appendNull(dst)
	}
	o, start := &k.objects[n], len(dst)
	present, named, begun := *k.Reader, k.named, k.begun
	typ, at := o.typ, o.at
	k.generic = o.generic
	k.named, k.begun, o.open = o.named, n+1, true
	k.Reset(present.File(), present.Offset()+int64(at-(len(k.whole)-present.Len())), k.whole[at:])
	dst = k.data(dst, typ)
	k.objects[n].open = false
	err := k.Err()
	*k.Reader, k.named, k.begun = present, named, begun
	k.SetErr(err)
	if k.expanded += len(dst) - start; k.expanded > maxKryoExpanded {
		k.Unsupported("references that expand to more than %d bytes", maxKryoExpanded)
	}
	return dst
}
