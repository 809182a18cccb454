package state

import "slices"

// FieldSerializer, Kryo's for beans, writes all fields of a class and its superclasses by name. Names and types are not in the bytes, so
// that a hint has to give them:
//
//	primitive:            its data
//	of a final class:     mark, data
//	of any other:         class, mark, data
//	List<E>, Map<K,V>:    as before, but the elements of a final class E without their class

// A kryoField is one of them. typ is nil where the class stands before the value.
type kryoField struct {
	quoted    []byte // `"name":`
	typ       *kryoType
	primitive bool
	generic   kryoGenerics
}

// kryoGenerics are the final classes of a collection's elements, or of a map's keys and values, as the field declares them; nil where
// each element has its class before it.
type kryoGenerics [2]*kryoType

func readKryoBean(k *kryoReader, dst []byte, t *kryoType) []byte {
	k.Tell(t.name)
	dst = append(dst, '{')
	for i := range t.fields {
		f := &t.fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = k.field(append(dst, f.quoted...), f); full(dst, k.Reader) {
			break
		}
	}
	return append(dst, '}')
}

func (k *kryoReader) field(dst []byte, f *kryoField) []byte {
	switch {
	case f.primitive:
		return k.data(dst, f.typ)
	case f.typ != nil:
		return k.object(dst, f.typ, true)
	}
	k.generic = f.generic
	dst = k.classAndObject(dst)
	k.generic = kryoGenerics{} // it may have been null
	return dst
}

// take hands a field's type parameters to the collection that is read next. Which of the other classes look at them is not known.
func (k *kryoReader) take(generic kryoGenerics, t *kryoType) bool {
	if !t.generic {
		k.Unsupported("a %s in a field with type parameters", t.name)
		return false
	}
	k.current = generic
	return true
}

// generics gives what take left.
func (k *kryoReader) generics() kryoGenerics {
	g := k.current
	k.current = kryoGenerics{}
	return g
}

// valueOf reads a value of a final class t, or of any class.
func (k *kryoReader) valueOf(dst []byte, t *kryoType) ([]byte, *kryoType) {
	if t == nil {
		return k.value(dst)
	}
	at := len(dst)
	dst = k.object(dst, t, true)
	if isNull(dst[at:]) {
		return dst, nil
	}
	return dst, t
}

// genericClasses are those whose serializers write what a field's type parameters say without its class.
var genericClasses = []string{
	"java.util.ArrayList", "java.util.LinkedList", "java.util.Vector", "java.util.ArrayDeque", "java.util.HashSet", "java.util.LinkedHashSet",
	"java.util.TreeSet", "java.util.HashMap", "java.util.LinkedHashMap", "java.util.TreeMap", "java.util.concurrent.ConcurrentHashMap",
}

func (v *kryoVersion) generics() {
	for name, t := range v.classes {
		t.generic = slices.Contains(genericClasses, name)
	}
}

// kryoType is how Kryo writes the class of a hint.
func (h *hint) kryoType(v *kryoVersion) *kryoType {
	if h.Form == "enum" {
		return &kryoType{name: h.Class, kind: Enum, hint: h, constants: h.typ.Symbols, read: readKryoEnum}
	}
	if h.shape == nil {
		return &kryoType{name: h.Class, kind: h.typ.Kind, hint: h, read: readKryoPayload}
	}
	fields, why := h.shape.kryoFields(v)
	if why != "" {
		return unknownKryo(h.Class, why)
	}
	return &kryoType{name: h.Class, kind: Object, hint: h, fields: fields, read: readKryoBean}
}

func (h *hint) kryoTyped() *Type {
	if h.shape != nil {
		return h.shape.typ
	}
	return h.typ
}

// readKryoPayload reads what a serializer of the job's wrote: with its length, or to the end when it is the whole value.
func readKryoPayload(k *kryoReader, dst []byte, t *kryoType) []byte {
	var b []byte
	switch t.hint.Frame {
	case "varint":
		b = k.Take(k.count(k.varint()))
	case "int32":
		b = k.Take(k.count(int(int32(k.uint32()))))
	default:
		if !k.framed || k.depth != 1 {
			k.Unsupported("Kryo class %s: %s", t.name, unsizedReason)
			return appendNull(dst)
		}
		b = k.Take(k.Len())
	}
	if k.Err() != nil || k.skipping {
		return appendNull(dst)
	}
	return t.hint.appendValue(dst, b)
}

// byName gives how a class is written: as Kryo does it, else as a hint says.
func (c *kryoCodec) byName(class string) *kryoType {
	if t := c.version.find(class); t != nil {
		return t
	}
	if h := c.hints.find(class); h != nil {
		return h.kryoOf(c.version)
	}
	return unknownKryo(class, beanReason)
}

// byNameBytes allocates for arrays of objects and unknown classes only.
func (c *kryoCodec) byNameBytes(class []byte) *kryoType {
	if t := c.version.classes[string(class)]; t != nil {
		return t
	}
	return c.byName(string(class))
}

func (h *hint) kryoOf(v *kryoVersion) *kryoType {
	if v.little {
		return h.kryo[1]
	}
	return h.kryo[0]
}

// registered gives how a class is written for which the job registered a serializer: only a hint about bytes can tell.
func (c *kryoCodec) registered(class string) *kryoType {
	if h := c.hints.bytes(class); h != nil {
		return h.kryoOf(c.version)
	}
	return unknownKryo(class, "the job registered a serializer for it")
}

// whole gives the codec for values that take all the bytes of their frame.
func (c *kryoCodec) whole() Codec {
	h := c.hints.bytes(c.typ.Class)
	if h == nil || h.Frame != "" || c.typ.Kind != Raw {
		return c
	}
	framed := *c
	framed.typ = *h.typ
	framed.typ.Nullable = true
	return &framed
}
