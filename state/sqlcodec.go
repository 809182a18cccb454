package state

import (
	"encoding/binary"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// At the top of a value, SQL serializers write big-endian numbers, and the binary forms behind an int32 of their size.

// A sqlCodec reads a row, an array, a map or a RAW value: its size, and its binary form.
type sqlCodec struct{ t *sqlType }

func (c *sqlCodec) Type() *Type           { return &c.t.typ }
func (c *sqlCodec) FixedLen() int         { return -1 }
func (c *sqlCodec) minLen() int           { return 4 }
func (c *sqlCodec) Skip(r *javaio.Reader) { r.Skip(r.Count(1)) }

func (c *sqlCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	b := r.Take(r.Count(1))
	return c.t.appendPart(dst, b, r)
}

var sqlStringCodec = avroStringCodec // an int32 length and UTF-8

// dataViewCodec stands where an accumulator's map is a state of its own: a byte.
var dataViewCodec = &scalar{typ: Type{Kind: Null, Nullable: true}, size: 0, width: 1, json: voidCodec.json}

// sqlDecimal makes the codec of a decimal: an int64, or an int32 length and two's complement.
func sqlDecimal(precision, scale int) Codec {
	c := &scalar{typ: Type{Kind: Decimal}, size: -1, width: -1}
	t := &sqlType{root: "DECIMAL", typ: c.typ, precision: precision, scale: scale}
	c.key = func(dst, json []byte) ([]byte, error) { return t.decimalKey(dst, json) }
	if precision <= maxCompact {
		c.width = 8
		c.json = func(dst []byte, r *javaio.Reader) []byte {
			return appendPlainDecimal(dst, r.Take(8), scale, r)
		}
		return c
	}
	c.skip = bytesCodec.skip
	c.json = func(dst []byte, r *javaio.Reader) []byte {
		return appendPlainDecimal(dst, r.Take(r.Count(1)), scale, r)
	}
	return c
}

// sqlTimestamp makes the codec of a timestamp: ms, and nanoseconds of the ms beyond a precision of 3.
func sqlTimestamp(kind TypeKind, precision int) Codec {
	t := &sqlType{typ: Type{Kind: kind}, precision: precision}
	c := &scalar{typ: t.typ, size: 8, width: 8, key: t.timestampKey}
	if precision > 3 {
		c.size, c.width = 12, 12
	}
	c.json = func(dst []byte, r *javaio.Reader) []byte {
		ms, nanos := r.Int64(), int32(0)
		if precision > 3 {
			nanos = r.Int32()
		}
		return t.appendTimestamp(dst, r, ms, nanos)
	}
	return c
}

// sqlDay makes the codec of a date or a time, which is an int32.
func sqlDay(t *sqlType) Codec {
	c := fixed(t.typ.Kind, 4, func(dst []byte, r *javaio.Reader) []byte {
		v := r.Int32()
		if t.typ.Kind == Time {
			return appendTimeOfDay(dst, r, v)
		}
		return append(civil(int64(v)).append(append(dst, '"')), '"')
	})
	c.key = func(dst, json []byte) ([]byte, error) {
		v, err := t.dayOrTime(json)
		return binary.BigEndian.AppendUint32(dst, uint32(v)), err
	}
	return c
}

// A sqlListCodec reads a list with a mask of its nulls, the most significant bit first.
type sqlListCodec struct {
	typ    Type
	elem   Codec
	masked bool
}

func (c *sqlListCodec) Type() *Type   { return &c.typ }
func (c *sqlListCodec) FixedLen() int { return -1 }

// head reads the count and the mask.
func (c *sqlListCodec) head(r *javaio.Reader) (n int, mask []byte) {
	n = int(r.Int32())
	if r.Err() == nil && (n < 0 || n > 8*r.Len()) {
		r.Fail("count %d does not fit %d bytes", n, r.Len())
	}
	if r.Err() != nil || !c.masked {
		return n, nil
	}
	return n, r.Take((n + 7) / 8)
}

func null(mask []byte, i int) bool { return mask != nil && mask[i/8]&(0x80>>(i%8)) != 0 }

func (c *sqlListCodec) Skip(r *javaio.Reader) {
	n, mask := c.head(r)
	for i := 0; i < n && r.Err() == nil; i++ {
		if !null(mask, i) {
			c.elem.Skip(r)
		}
	}
}

func (c *sqlListCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	n, mask := c.head(r)
	dst = append(dst, '[')
	for i := 0; i < n && !full(dst, r); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if null(mask, i) {
			dst = appendNull(dst)
			continue
		}
		dst = c.elem.AppendJSON(dst, r)
	}
	return append(dst, ']')
}

// A windowKeyCodec reads the number of a window, then a key.
type windowKeyCodec struct {
	typ Type
	key Codec
}

func newWindowKey(nested []Codec) Codec {
	fields := []Field{{"window", int64Type}, {"key", nested[0].Type()}}
	return &windowKeyCodec{Type{Kind: Tuple, Fields: fields}, nested[0]}
}

func (c *windowKeyCodec) Type() *Type   { return &c.typ }
func (c *windowKeyCodec) FixedLen() int { return -1 }

func (c *windowKeyCodec) Skip(r *javaio.Reader) {
	r.Skip(8)
	c.key.Skip(r)
}

func (c *windowKeyCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	dst = strconv.AppendInt(append(dst, '['), r.Int64(), 10)
	return append(c.key.AppendJSON(append(dst, ','), r), ']')
}

// AppendKey writes a row whose fields have fixed slots: what the keys of SQL operators mostly are.
func (c *sqlCodec) AppendKey(dst, json []byte) ([]byte, error) {
	row, err := c.t.encodeRow(json)
	if err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(row)))
	return append(dst, row...), nil
}

// HashCode is that of Flink's BinaryRowData: of its bytes.
func (c *sqlCodec) HashCode(json []byte) (int32, bool) {
	row, err := c.t.encodeRow(json)
	if err != nil || c.t.root != "ROW" {
		return 0, false
	}
	return murmurWords(row), true
}
