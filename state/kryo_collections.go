package state

// The data of Kryo collections, maps and arrays. Kryo 5 counts from one, keeping 0 for null, and writes the class of the
// elements once when they are all of one.

// A kryoElements says how many elements follow, and how each is written.
type kryoElements struct {
	n     int
	same  *kryoType // the class of all; nil when each has its own before it
	bare  bool      // all are of class same, and have no mark
	nulls bool      // elements of class same may be null
	none  bool      // all are null, and take no bytes
}

// element reads the next element, and gives its class, nil for null.
func (k *kryoReader) element(dst []byte, e *kryoElements) []byte {
	switch {
	case e.none:
		return appendNull(dst)
	case e.bare:
		return e.same.read(k, dst, e.same)
	case e.same != nil:
		return k.object(dst, e.same, e.nulls)
	}
	return k.classAndObject(dst)
}

// array reads the elements into an array.
func (k *kryoReader) array(dst []byte, e kryoElements) []byte {
	dst = append(dst, '[')
	for i := range e.n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = k.element(dst, &e); full(dst, k.Reader) {
			break
		}
	}
	return append(dst, ']')
}

func readKryoList(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.array(dst, k.collection(false))
}

// readKryoQueue reads a PriorityQueue, in the order of its array.
func readKryoQueue(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.array(dst, k.collection(true))
}

func readKryoSet(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.set(dst, k.collection(false))
}
func readKryoSorted(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.set(dst, k.collection(true))
}

// readKryoListOf and readKryoSetOf read what List.of and Set.of gave, which have no nulls.
func readKryoListOf(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.array(dst, k.withoutNulls())
}
func readKryoSetOf(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return k.set(dst, k.withoutNulls())
}

func (k *kryoReader) set(dst []byte, e kryoElements) []byte {
	b := newBag(dst)
	for range e.n {
		dst = k.element(dst, &e)
		b.key(dst)
		if dst = b.value(dst); full(dst, k.Reader) {
			break
		}
	}
	return b.finish(dst, setShape)
}

// collection reads what stands before the elements: their number, and the comparator of a sorted collection.
func (k *kryoReader) collection(comparator bool) kryoElements {
	elem := k.generics()[0]
	if k.codec.version.little {
		return k.flaggedCollection(comparator, elem, true)
	}
	if comparator {
		k.comparator()
	}
	return kryoElements{n: k.count(k.varint()), same: elem, nulls: true}
}

// withoutNulls is collection for one that can have no nulls: Kryo 5 does not say that it has none.
func (k *kryoReader) withoutNulls() kryoElements {
	if !k.codec.version.little {
		return k.collection(false)
	}
	elem := k.generics()[0]
	if elem == nil {
		return k.flaggedCollection(false, nil, false)
	}
	return kryoElements{n: k.count(max(k.varint()-1, 0)), same: elem}
}

// flaggedCollection reads the head of a collection in Kryo 5: the flag says that all elements are of one class, which follows; or, where
// the field says that they are all of class elem, that there are nulls among them.
func (k *kryoReader) flaggedCollection(comparator bool, elem *kryoType, nulls bool) kryoElements {
	flags := k.Rest()
	n := k.flaggedVarint() - 1
	if comparator && n >= 0 {
		k.comparator()
	}
	if n <= 0 || k.Err() != nil {
		return kryoElements{}
	}
	flagged := flags[0]&0x80 != 0
	if elem != nil {
		return kryoElements{n: k.count(n), same: elem, nulls: flagged}
	}
	if !flagged {
		return kryoElements{n: k.count(n)}
	}
	e := kryoElements{same: k.class()}
	if e.same == nil {
		return k.allNull(n)
	}
	e.nulls = nulls && k.Bool()
	e.n = k.count(n)
	return e
}

// maxNulls bounds what a few bytes can claim.
const maxNulls = 1 << 16

func (k *kryoReader) allNull(n int) kryoElements {
	if k.Err() == nil && n > maxNulls {
		k.Unsupported("a collection of %d nulls", n)
	}
	if k.Err() != nil {
		return kryoElements{}
	}
	return kryoElements{n: n, none: true}
}

// comparator reads the comparator of a sorted collection, whose order JSON does not keep.
func (k *kryoReader) comparator() {
	at, skipping := len(k.scratch), k.skipping
	k.skipping = true
	k.scratch = k.classAndObject(k.scratch)[:at]
	k.skipping = skipping
}

func readKryoMap(k *kryoReader, dst []byte, _ *kryoType) []byte       { return k.mapping(dst, false) }
func readKryoSortedMap(k *kryoReader, dst []byte, _ *kryoType) []byte { return k.mapping(dst, true) }

func (k *kryoReader) mapping(dst []byte, comparator bool) []byte {
	b, strings, generic := newBag(dst), true, k.generics()
	for range k.mapSize(comparator) {
		var t *kryoType
		start := len(dst)
		dst, t = k.valueOf(dst, generic[0])
		b.key(dst)
		strings = strings && isText(t, dst[start:])
		dst, _ = k.valueOf(dst, generic[1])
		if dst = b.value(dst); full(dst, k.Reader) {
			break
		}
	}
	return b.finish(dst, mapShape(strings))
}

// isText tells keys that can be members of an object: strings that are not null.
func isText(t *kryoType, json []byte) bool {
	return t != nil && t.text && len(json) > 0 && json[0] == '"'
}

// mapSize reads what stands before the entries: Kryo 2.24 has the comparator first, Kryo 5 the number.
func (k *kryoReader) mapSize(comparator bool) int {
	if !k.codec.version.little {
		if comparator {
			k.comparator()
		}
		return k.count(k.varint())
	}
	n := k.varint() - 1
	if comparator && n >= 0 {
		k.comparator()
	}
	return k.count(max(n, 0))
}

func readKryoEmptyList(_ *kryoReader, dst []byte, _ *kryoType) []byte { return append(dst, '[', ']') }
func readKryoEmptyMap(_ *kryoReader, dst []byte, _ *kryoType) []byte  { return append(dst, '{', '}') }
func readKryoNothing(_ *kryoReader, dst []byte, _ *kryoType) []byte   { return appendNull(dst) }

// readKryoOptional reads an Optional as its value, or null.
func readKryoOptional(k *kryoReader, dst []byte, _ *kryoType) []byte { return k.classAndObject(dst) }

func readKryoSingleton(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return append(k.classAndObject(append(dst, '[')), ']')
}

func readKryoSingletonMap(k *kryoReader, dst []byte, _ *kryoType) []byte {
	b, start := newBag(dst), len(dst)
	dst, t := k.value(dst)
	b.key(dst)
	text := isText(t, dst[start:])
	dst = b.value(k.classAndObject(dst))
	return b.finish(dst, mapShape(text))
}

// readKryoAsList reads what Arrays.asList gave: Kryo 2.24 has the class of the array's elements after the count.
func readKryoAsList(k *kryoReader, dst []byte, t *kryoType) []byte {
	if k.codec.version.little {
		return readKryoList(k, dst, t)
	}
	n := k.varint()
	k.class()
	return k.array(dst, kryoElements{n: k.count(n)})
}

// length reads the length of an array; false for null.
func (k *kryoReader) length() (int, bool) {
	n := k.varint()
	if n == 0 {
		return 0, false
	}
	return k.count(n - 1), true
}

func readKryoBytes(k *kryoReader, dst []byte, _ *kryoType) []byte {
	n, ok := k.length()
	if !ok {
		return appendNull(dst)
	}
	return appendBase64(dst, k.Take(n))
}

// readKryoPrimitives reads an array of primitives: bare data.
func readKryoPrimitives(k *kryoReader, dst []byte, t *kryoType) []byte {
	n, ok := k.length()
	if !ok {
		return appendNull(dst)
	}
	return k.array(dst, kryoElements{n: n, same: t.elem, bare: true})
}

// readKryoArray reads an array of objects: of a final class without their classes.
func readKryoArray(k *kryoReader, dst []byte, t *kryoType) []byte {
	n, ok := k.length()
	if !ok {
		return appendNull(dst)
	}
	return k.array(dst, kryoElements{n: n, same: t.elem, nulls: true})
}
