package state

// The data of Kryo collections, maps and arrays. Kryo 5 counts from one, keeping 0 for null, and writes the class of the
// elements once when they are all of one.

func readKryoList(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = append(dst, '[')
	first := true
	dst = k.elements(dst, false, func(dst []byte, read func([]byte) []byte) []byte {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		return read(dst)
	})
	return append(dst, ']')
}

func readKryoSet(k *kryoReader, dst []byte, _ *kryoType) []byte    { return k.set(dst, false) }
func readKryoSorted(k *kryoReader, dst []byte, _ *kryoType) []byte { return k.set(dst, true) }

func (k *kryoReader) set(dst []byte, comparator bool) []byte {
	b := newBag(dst)
	dst = k.elements(dst, comparator, func(dst []byte, read func([]byte) []byte) []byte {
		dst = read(dst)
		b.key(dst)
		return b.value(dst)
	})
	return b.finish(dst, setShape)
}

// readKryoQueue reads a PriorityQueue, in the order of its array.
func readKryoQueue(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = append(dst, '[')
	start := len(dst)
	dst = k.elements(dst, true, func(dst []byte, read func([]byte) []byte) []byte {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		return read(dst)
	})
	return append(dst, ']')
}

// elements reads the size, the comparator where there is one, and calls each for every element with what reads it.
func (k *kryoReader) elements(dst []byte, comparator bool, each func(dst []byte, read func([]byte) []byte) []byte) []byte {
	if k.codec.version.little {
		return k.flaggedElements(dst, comparator, each)
	}
	if comparator {
		k.comparator()
	}
	for range k.count(k.varint()) {
		if dst = each(dst, k.classAndObject); k.Err() != nil {
			break
		}
	}
	return dst
}

func (k *kryoReader) flaggedElements(dst []byte, comparator bool, each func(dst []byte, read func([]byte) []byte) []byte) []byte {
	flags := k.Rest()
	n := k.flaggedVarint() - 1
	if comparator && n >= 0 {
		k.comparator()
	}
	if n <= 0 || k.Err() != nil {
		return dst
	}
	read := k.classAndObject
	if flags[0]&0x80 != 0 {
		read, n = k.sameClass(n)
	}
	for range n {
		if k.Err() != nil {
			break
		}
		if dst = each(dst, read); k.Err() != nil {
			break
		}
	}
	return dst
}

// sameClass reads the class of all n elements and gives what reads one.
func (k *kryoReader) sameClass(n int) (read func([]byte) []byte, count int) {
	t := k.class()
	if t == nil { // all are null and take no bytes
		if n > maxNulls {
			k.Unsupported("a collection of %d nulls", n)
			return appendNull, 0
		}
		return appendNull, n
	}
	nulls := k.Bool()
	return func(dst []byte) []byte { return k.object(dst, t, nulls) }, k.count(n)
}

// maxNulls bounds what a few bytes can claim.
const maxNulls = 1 << 16

// comparator reads the comparator of a sorted collection, whose order JSON does not keep.
func (k *kryoReader) comparator() {
	at := len(k.scratch)
	skipping := k.skipping
	k.skipping = true
	k.scratch = k.classAndObject(k.scratch)[:at]
	k.skipping = skipping
}

func readKryoMap(k *kryoReader, dst []byte, _ *kryoType) []byte       { return k.mapping(dst, false) }
func readKryoSortedMap(k *kryoReader, dst []byte, _ *kryoType) []byte { return k.mapping(dst, true) }

func (k *kryoReader) mapping(dst []byte, comparator bool) []byte {
	n := 0
	switch little := k.codec.version.little; {
	case little:
		n = k.varint() - 1
		if comparator && n >= 0 {
			k.comparator()
		}
	case comparator:
		k.comparator()
		fallthrough
	default:
		n = k.varint()
	}
	b, strings := newBag(dst), true
	for range k.count(max(n, 0)) {
		var t *kryoType
		dst, t = k.value(dst)
		b.key(dst)
		strings = strings && t != nil && t.text
		dst = k.classAndObject(dst)
		if dst = b.value(dst); k.Err() != nil {
			break
		}
	}
	return b.finish(dst, mapShape(strings))
}

func readKryoEmptyList(_ *kryoReader, dst []byte, _ *kryoType) []byte { return append(dst, '[', ']') }
func readKryoEmptyMap(_ *kryoReader, dst []byte, _ *kryoType) []byte  { return append(dst, '{', '}') }
func readKryoNothing(_ *kryoReader, dst []byte, _ *kryoType) []byte   { return appendNull(dst) }

func readKryoSingleton(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return append(k.classAndObject(append(dst, '[')), ']')
}

func readKryoSingletonMap(k *kryoReader, dst []byte, _ *kryoType) []byte {
	b := newBag(dst)
	dst, t := k.value(dst)
	b.key(dst)
	dst = b.value(k.classAndObject(dst))
	return b.finish(dst, mapShape(t != nil && t.text))
}

// readKryoAsList reads what Arrays.asList gave: Kryo 2.24 has the class of the array's elements after the count.
func readKryoAsList(k *kryoReader, dst []byte, t *kryoType) []byte {
	if k.codec.version.little {
		return readKryoList(k, dst, t)
	}
	n := k.varint()
	k.class()
	return k.array(dst, k.count(n), k.classAndObject)
}

func (k *kryoReader) array(dst []byte, n int, read func([]byte) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = read(dst); k.Err() != nil {
			break
		}
	}
	return append(dst, ']')
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
	return k.array(dst, n, func(dst []byte) []byte { return t.elem.read(k, dst, t.elem) })
}

// readKryoArray reads an array of objects: of a final class without their classes.
func readKryoArray(k *kryoReader, dst []byte, t *kryoType) []byte {
	n, ok := k.length()
	switch {
	case !ok:
		return appendNull(dst)
	case t.elem == nil:
		return k.array(dst, n, k.classAndObject)
	}
	return k.array(dst, n, func(dst []byte) []byte { return k.object(dst, t.elem, true) })
}
