package state

import (
	"fmt"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// A scalar is the codec of a type without parts.
type scalar struct {
	typ   Type
	size  int // getLength, or -1
	width int // bytes that a value takes, or -1; getLength may say otherwise
	skip  func(r *javaio.Reader)
	json  func(dst []byte, r *javaio.Reader) []byte
	key   func(dst, json []byte) ([]byte, error)
	hash  func(json []byte) (int32, bool)
}

func (s *scalar) Type() *Type   { return &s.typ }
func (s *scalar) FixedLen() int { return s.size }

// minLen is 0 only where a value has no bytes at all.
func (s *scalar) minLen() int {
	if s.width >= 0 {
		return s.width
	}
	return 1
}

func (s *scalar) Skip(r *javaio.Reader) {
	if s.width >= 0 {
		r.Skip(s.width)
		return
	}
	s.skip(r)
}

func (s *scalar) AppendJSON(dst []byte, r *javaio.Reader) []byte { return s.json(dst, r) }

func (s *scalar) AppendKey(dst, json []byte) ([]byte, error) {
	if s.key == nil {
		return dst, fmt.Errorf("a value of type %s cannot be looked up", &s.typ)
	}
	return s.key(dst, json)
}

func (s *scalar) HashCode(json []byte) (int32, bool) {
	if s.hash == nil {
		return 0, false
	}
	return s.hash(json)
}

// fixed makes the codec of a type whose values all take width bytes.
func fixed(kind TypeKind, width int, json func([]byte, *javaio.Reader) []byte) *scalar {
	return &scalar{typ: Type{Kind: kind}, size: width, width: width, json: json}
}

var (
	boolCodec  = fixed(Bool, 1, func(dst []byte, r *javaio.Reader) []byte { return appendBool(dst, r.Bool()) })
	int8Codec  = fixed(Int8, 1, func(dst []byte, r *javaio.Reader) []byte { return strconv.AppendInt(dst, int64(r.Int8()), 10) })
	int16Codec = fixed(Int16, 2, func(dst []byte, r *javaio.Reader) []byte { return strconv.AppendInt(dst, int64(r.Int16()), 10) })
	int32Codec = fixed(Int32, 4, func(dst []byte, r *javaio.Reader) []byte { return strconv.AppendInt(dst, int64(r.Int32()), 10) })
	int64Codec = fixed(Int64, 8, func(dst []byte, r *javaio.Reader) []byte { return strconv.AppendInt(dst, r.Int64(), 10) })

	float32Codec = fixed(Float32, 4, func(dst []byte, r *javaio.Reader) []byte { return appendFloat(dst, float64(r.Float32()), 32) })
	float64Codec = fixed(Float64, 8, func(dst []byte, r *javaio.Reader) []byte { return appendFloat(dst, r.Float64(), 64) })

	charCodec = fixed(Char, 2, func(dst []byte, r *javaio.Reader) []byte { return appendChar(dst, r.Uint16()) })

	stringCodec = &scalar{typ: Type{Kind: String, Nullable: true}, size: -1, width: -1, skip: skipFlinkString, json: appendFlinkString}

	// voidCodec's values are one byte of no meaning.
	voidCodec = fixed(Null, 1, func(dst []byte, r *javaio.Reader) []byte { r.Skip(1); return appendNull(dst) })
	// voidNamespaceCodec claims length 0 and writes a byte.
	voidNamespaceCodec = &scalar{typ: Type{Kind: Null}, size: 0, width: 1, json: voidCodec.json}

	globalWindowCodec = fixed(GlobalWindow, 1, func(dst []byte, r *javaio.Reader) []byte { r.Skip(1); return append(dst, `"GlobalWindow"`...) })
	timeWindowCodec   = fixed(Window, 16, appendWindow)
	// countWindowCodec's namespace is the number of the window.
	countWindowCodec = fixed(Int64, 8, int64Codec.json)
)

// appendChar appends a UTF-16 code unit as a string of one character.
func appendChar(dst []byte, u uint16) []byte {
	dst = append(dst, '"')
	dst, high := appendUnit(dst, 0, u)
	return append(flushUnit(dst, high), '"')
}

func appendWindow(dst []byte, r *javaio.Reader) []byte {
	dst = append(dst, `{"start":`...)
	dst = strconv.AppendInt(dst, r.Int64(), 10)
	dst = append(dst, `,"end":`...)
	dst = strconv.AppendInt(dst, r.Int64(), 10)
	return append(dst, '}')
}

// javaFloatBits is Float.floatToIntBits: every NaN is one value.
func javaFloatBits(f float32) uint32 {
	if f != f {
		return 0x7FC00000
	}
	return math.Float32bits(f)
}

// javaDoubleBits is Double.doubleToLongBits.
func javaDoubleBits(f float64) uint64 {
	if f != f {
		return 0x7FF8000000000000
	}
	return math.Float64bits(f)
}

func hashInt64(v int64) int32 { return int32(v) ^ int32(uint64(v)>>32) }
