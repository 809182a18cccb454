package state

import (
	"math"
	"strconv"
)

// Small classes of java.util, and views of collections that are written as collections are.

var (
	kryoViewLists = []string{"java.util.ArrayList$SubList", "java.util.Collections$CopiesList", "java.util.HashMap$Values", "java.util.LinkedHashMap$LinkedValues",
		"java.util.TreeMap$Values", "java.util.Collections$SynchronizedCollection"}
	kryoViewSets = []string{"java.util.HashMap$KeySet", "java.util.LinkedHashMap$LinkedKeySet", "java.util.TreeMap$KeySet", "java.util.Collections$UnmodifiableSortedSet",
		"java.util.Collections$UnmodifiableNavigableSet", "java.util.Collections$SynchronizedSortedSet"}
	kryoViewMaps = []string{"java.util.IdentityHashMap", "java.util.EnumMap", "java.util.Collections$UnmodifiableSortedMap", "java.util.Collections$UnmodifiableNavigableMap",
		"java.util.Collections$SynchronizedSortedMap"}
	kryoEntries = []string{"java.util.AbstractMap$SimpleEntry", "java.util.AbstractMap$SimpleImmutableEntry", "java.util.KeyValueHolder"}
)

func (v *kryoVersion) small() {
	add := func(kind TypeKind, read kryoRead, names ...string) {
		for _, n := range names {
			v.classes[n] = &kryoType{name: n, kind: kind, read: read}
		}
	}
	add(List, readKryoList, kryoViewLists...)
	add(Set, readKryoSet, kryoViewSets...)
	add(Map, readKryoMap, kryoViewMaps...)
	add(Set, readKryoSet, "java.util.concurrent.ConcurrentSkipListSet")
	add(Map, v.skipListMap(), "java.util.concurrent.ConcurrentSkipListMap")
	add(Any, readKryoEntry, kryoEntries...)
	add(Any, readKryoOptional, "java.util.concurrent.atomic.AtomicReference")
	add(Bool, readKryoAtomicBool, "java.util.concurrent.atomic.AtomicBoolean")
	add(Set, readKryoEnumSet, "java.util.RegularEnumSet", "java.util.JumboEnumSet")
	add(List, readKryoBitSet, "java.util.BitSet")
	add(Int32, optional(func(k *kryoReader, dst []byte) []byte {
		if k.codec.version.little {
			return strconv.AppendInt(dst, int64(int32(k.uint32())), 10)
		}
		return strconv.AppendInt(dst, int64(k.zigzagInt()), 10)
	}), "java.util.OptionalInt")
	add(Int64, optional(func(k *kryoReader, dst []byte) []byte {
		if k.codec.version.little {
			return strconv.AppendInt(dst, int64(k.uint64()), 10)
		}
		return strconv.AppendInt(dst, unzigzag(k.varlong()), 10)
	}), "java.util.OptionalLong")
	add(Float64, optional(func(k *kryoReader, dst []byte) []byte {
		return appendFloat(dst, math.Float64frombits(k.uint64()), 64)
	}), "java.util.OptionalDouble")
	if v.little {
		add(String, readKryoLocale, "java.util.Locale")
	}
}

// skipListMap is a sorted map in Kryo 5 alone.
func (v *kryoVersion) skipListMap() kryoRead {
	if v.little {
		return readKryoSortedMap
	}
	return readKryoMap
}

// optional makes the reader of an optional number. Kryo 2.24 writes one, of no meaning, also where there is none.
func optional(number func(k *kryoReader, dst []byte) []byte) kryoRead {
	return func(k *kryoReader, dst []byte, _ *kryoType) []byte {
		present, start := k.Bool(), len(dst)
		if present || !k.codec.version.little {
			dst = number(k, dst)
		}
		if !present {
			return appendNull(dst[:start])
		}
		return dst
	}
}

func readKryoEntry(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = k.classAndObject(append(dst, `{"key":`...))
	return append(k.classAndObject(append(dst, `,"value":`...)), '}')
}

func readKryoAtomicBool(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return appendBool(dst, k.zigzagInt() != 0)
}

// readKryoEnumSet reads the class of the constants, then their ordinals.
func readKryoEnumSet(k *kryoReader, dst []byte, _ *kryoType) []byte {
	t, b := k.class(), newBag(dst)
	if t == nil && k.Err() == nil {
		k.Fail("a set of enums without a class")
	}
	for range k.count(k.varint()) {
		dst = k.data(dst, t)
		b.key(dst)
		if dst = b.value(dst); full(dst, k.Reader) {
			break
		}
	}
	return b.finish(dst, setShape)
}

// readKryoBitSet prints the numbers of the bits that are set.
func readKryoBitSet(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = append(dst, '[')
	start := len(dst)
	for word := range k.count(k.varint()) {
		bits := k.uint64()
		for i := range 64 {
			if bits>>i&1 == 0 {
				continue
			}
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(word*64+i), 10)
		}
		if full(dst, k.Reader) {
			break
		}
	}
	return append(dst, ']')
}

// readKryoLocale reads what Kryo 5 writes, which leaves script and extensions out.
func readKryoLocale(k *kryoReader, dst []byte, _ *kryoType) []byte {
	var parts [5]string
	for i := range 3 { // language, country, variant
		text, _ := k.string(nil)
		parts[i] = string(text)
	}
	return appendQuoted(dst, appendLocale(nil, parts))
}
