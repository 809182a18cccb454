package state

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"time"
)

// encodeRow writes a row from its JSON, as Flink's BinaryRowWriter lays it out.
func (t *sqlType) encodeRow(json []byte) ([]byte, error) {
	if t.root != "ROW" {
		return nil, fmt.Errorf("a %s cannot be looked up", &t.typ)
	}
	parts, err := elementsOf(json, len(t.fields))
	if err != nil {
		return nil, err
	}
	header := (len(t.fields) + 63 + 8) / 64 * 8
	row := make([]byte, header+8*len(t.fields))
	for i, f := range t.fields {
		if isNull(parts[i]) {
			bit := i + 8
			row[bit/8] |= 1 << (bit % 8)
			if f.root == "DECIMAL" && f.precision > maxCompact {
				binary.LittleEndian.PutUint64(row[header+8*i:], uint64(len(row))<<32)
				row = append(row, make([]byte, 16)...)
			}
			continue
		}
		if row, err = f.encodeSlot(row, header+8*i, parts[i]); err != nil {
			return nil, fmt.Errorf("f%d: %w", i, err)
		}
	}
	return row, nil
}

// encodeSlot writes a value into the slot at row[at:], and its part, if it has one, to the end of the row.
func (t *sqlType) encodeSlot(row []byte, at int, json []byte) ([]byte, error) {
	slot := row[at : at+8]
	var number scalarKey
	switch t.typ.Kind {
	case Bool:
		number = boolCodec.key
	case Int8:
		number = int8Codec.key
	case Int16:
		number = int16Codec.key
	case Int32:
		number = int32Codec.key
	case Int64:
		number = int64Codec.key
	case Float32:
		number = float32Key
	case Float64:
		number = float64Key
	case Date, Time, DateTime, Instant:
		return t.encodeTime(row, slot, json)
	case String, Bytes:
		b, err := t.textOf(json)
		return appendTextPart(row, slot, b), err
	case Decimal:
		return t.encodeDecimal(row, slot, json)
	default:
		return row, errors.New("a value of type " + t.typ.String() + " cannot be looked up")
	}
	b, err := number(nil, json)
	for i, c := range b { // big-endian to little-endian
		slot[len(b)-1-i] = c
	}
	return row, err
}

type scalarKey = func(dst, json []byte) ([]byte, error)

func (t *sqlType) textOf(json []byte) ([]byte, error) {
	s, err := unquote(json)
	if err != nil || t.typ.Kind == String {
		return s, err
	}
	b, err := base64.StdEncoding.DecodeString(string(s))
	return b, expect("base64", err == nil)
}

// appendTextPart puts up to seven bytes into the slot, more behind the row, padded to eight.
func appendTextPart(row, slot, b []byte) []byte {
	if len(b) <= 7 {
		copy(slot, b)
		slot[7] = 0x80 | byte(len(b))
		return row
	}
	binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|uint64(len(b)))
	row = append(row, b...)
	return append(row, make([]byte, (8-len(b)%8)%8)...)
}

func (t *sqlType) encodeDecimal(row, slot, json []byte) ([]byte, error) {
	v, scale, err := parseDecimal(json)
	if err != nil {
		return row, err
	}
	for ; int(scale) < t.scale; scale++ {
		v.Mul(v, big.NewInt(10))
	}
	if int(scale) != t.scale {
		return row, fmt.Errorf("no more than %d digits after the point are expected", t.scale)
	}
	if t.precision <= maxCompact {
		if !v.IsInt64() {
			return row, fmt.Errorf("no more than %d digits are expected", t.precision)
		}
		binary.LittleEndian.PutUint64(slot, uint64(v.Int64()))
		return row, nil
	}
	b := twosComplement(v)
	if len(b) > 16 {
		return row, fmt.Errorf("no more than %d digits are expected", t.precision)
	}
	binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|uint64(len(b)))
	row = append(row, b...)
	return append(row, make([]byte, 16-len(b))...), nil
}

func (t *sqlType) encodeTime(row, slot, json []byte) ([]byte, error) {
	switch t.typ.Kind {
	case Date:
		v, err := parseTime(json, time.DateOnly, "2006-01-02")
		binary.LittleEndian.PutUint32(slot, uint32(v.Unix()/secondsPerDay))
		return row, err
	case Time:
		v, err := parseTime(json, "15:04:05.999999999", "15:04:05.999")
		ms := v.Sub(v.Truncate(24 * time.Hour)).Milliseconds()
		binary.LittleEndian.PutUint32(slot, uint32(ms))
		return row, err
	}
	layout, example := "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999"
	if t.typ.Kind == Instant {
		layout, example = time.RFC3339Nano, example+"Z"
	}
	v, err := parseTime(json, layout, example)
	ms, nanos := v.UnixMilli(), uint64(v.Nanosecond()%1e6)
	if t.precision <= 3 {
		binary.LittleEndian.PutUint64(slot, uint64(ms))
		return row, err
	}
	binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|nanos)
	return binary.LittleEndian.AppendUint64(row, uint64(ms)), err
}

// murmurWords is how Flink hashes a binary row: MurmurHash3 x86 32, seed 42, over whole words of four bytes.
func murmurWords(b []byte) int32 {
	h := uint32(42)
	for i := 0; i+4 <= len(b); i += 4 {
		k := binary.LittleEndian.Uint32(b[i:]) * 0xCC9E2D51
		h ^= bits.RotateLeft32(k, 15) * 0x1B873593
		h = bits.RotateLeft32(h, 13)*5 + 0xE6546B64
	}
	h ^= uint32(len(b))
	h = (h ^ h>>16) * 0x85EBCA6B
	h = (h ^ h>>13) * 0xC2B2AE35
	return int32(h ^ h>>16)
}
