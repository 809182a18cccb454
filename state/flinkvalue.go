package state

import "github.com/statebridge/statebridge/state/javaio"

// A flinkValue is one of Flink's own Value classes (LongValue and its kin): written as the basic type that it wraps, with a hashCode of its own.
type flinkValue struct{ *scalar }

// HashCode is not known: the key group of such a key is found by reading.
func (flinkValue) HashCode([]byte) (int32, bool) { return 0, false }

// A StringValue is never null, so its length is not counted from one, as a String's is; its code units are the same.
var stringValueCodec = &scalar{typ: Type{Kind: String}, size: -1, width: -1,
	skip: func(r *javaio.Reader) {
		if n := stringValueLen(r); n > 0 {
			r.Skip(unitsLen(r.Rest(), n))
		}
	},
	json: func(dst []byte, r *javaio.Reader) []byte { return appendCounted(dst, r, stringValueLen(r)) },
}

func stringValueLen(r *javaio.Reader) int {
	n := r.Uvarint()
	if n > 1<<31-1 {
		r.Fail("string of %d characters", n)
		return 0
	}
	if n > uint64(r.Len()) { // a unit takes a byte at least
		r.Take(int(n)) // says what is missing
		return 0
	}
	return int(n)
}
