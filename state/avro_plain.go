package state

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// The binary encoding of the Avro specification, which users' own serializers write; see avro.go for Flink's:
//
//	int, long, enum, union's branch, lengths: zigzag varint | float, double: IEEE, little-endian | boolean: a byte | null: nothing
//	array, map: blocks of a count and items, up to a count of 0; a negative count is followed by the block's size in bytes

// avroZigzag reads a number of at most 64 bits.
func avroZigzag(r *javaio.Reader) int64 { return unzigzag(r.Uvarint()) }

// avroLength reads how many bytes follow.
func avroLength(r *javaio.Reader) int {
	n := avroZigzag(r)
	if r.Err() == nil && (n < 0 || n > int64(r.Len())) {
		r.Fail("%d bytes wanted, %d left", n, r.Len())
	}
	if r.Err() != nil {
		return 0
	}
	return int(n)
}

func plainNumber(kind TypeKind, low, high int64) *scalar {
	read := func(r *javaio.Reader) int64 {
		v := avroZigzag(r)
		if r.Err() == nil && (v < low || v > high) {
			r.Fail("%d is no %s", v, kind)
		}
		return v
	}
	return &scalar{typ: Type{Kind: kind}, size: -1, width: -1, skip: func(r *javaio.Reader) { read(r) },
		json: func(dst []byte, r *javaio.Reader) []byte { return strconv.AppendInt(dst, read(r), 10) }}
}

func plainBytes(kind TypeKind, print func(dst, b []byte) []byte) *scalar {
	return &scalar{typ: Type{Kind: kind}, size: -1, width: -1, skip: func(r *javaio.Reader) { r.Skip(avroLength(r)) },
		json: func(dst []byte, r *javaio.Reader) []byte { return print(dst, r.Take(avroLength(r))) }}
}

var (
	plainString    = plainBytes(String, appendQuoted[[]byte])
	avroPlainTypes = map[string]Codec{
		"null": avroNullCodec, "boolean": boolCodec,
		"int": plainNumber(Int32, math.MinInt32, math.MaxInt32), "long": plainNumber(Int64, math.MinInt64, math.MaxInt64),
		"float": fixed(Float32, 4, func(dst []byte, r *javaio.Reader) []byte {
			b := r.Take(4)
			if b == nil {
				return appendNull(dst)
			}
			return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
		}),
		"double": fixed(Float64, 8, func(dst []byte, r *javaio.Reader) []byte {
			b := r.Take(8)
			if b == nil {
				return appendNull(dst)
			}
			return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
		}),
		"bytes": plainBytes(Bytes, appendBase64), "string": plainString,
	}
)

// plainBlock reads the count of the next block, as avroItems.block does.
func plainBlock(r *javaio.Reader) uint64 {
	n := avroZigzag(r)
	if n >= 0 {
		return uint64(n)
	}
	avroZigzag(r) // bytes of the block, for those who step over it
	return -uint64(n)
}

// A plainEnum reads the number of a symbol.
type plainEnum struct{ *enumCodec }

func (c plainEnum) FixedLen() int { return -1 }

func (c plainEnum) Skip(r *javaio.Reader) { c.symbol(r) }

func (c plainEnum) symbol(r *javaio.Reader) int {
	i := avroZigzag(r)
	if r.Err() == nil && (i < 0 || i >= int64(len(c.quoted))) {
		r.Fail("constant %d of %s, which has %d", i, c.typ.Class, len(c.quoted))
	}
	return int(i)
}

func (c plainEnum) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	i := c.symbol(r)
	if r.Err() != nil {
		return appendNull(dst)
	}
	return append(dst, c.quoted[i]...)
}

// prepareAvro parses the schema for both encodings.
func (h *hint) prepareAvro() (err error) {
	if h.avro, err = parseAvro(h.Data); err != nil {
		return err
	}
	c, err := parsePlainAvro(h.Data)
	if err != nil {
		return err
	}
	h.typ = c.Type()
	h.decode = func(dst, b []byte) ([]byte, error) {
		r := javaio.NewReader("", 0, b)
		out := c.AppendJSON(dst, r)
		r.End()
		if err := r.Err(); err != nil {
			return dst, reasonOf(err)
		}
		return out, nil
	}
	return nil
}

// reasonOf leaves the place out, which within one value says nothing.
func reasonOf(err error) error {
	switch e := err.(type) { //nolint:errorlint // as the reader made it
	case *fault.CorruptError:
		return &fault.UnsupportedError{What: e.Reason}
	case *fault.UnsupportedError:
		return &fault.UnsupportedError{What: e.What}
	}
	return err
}
