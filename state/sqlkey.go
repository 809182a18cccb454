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
	return t.encodeFields(parts)
}

func (t *sqlType) encodeFields(parts [][]byte) (row []byte, err error) {
	header := (len(t.fields) + 63 + 8) / 64 * 8
	row = make([]byte, header+8*len(t.fields))
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
	v, err := t.unscaled(json)
	if err != nil {
		return row, err
	}
	if t.precision <= maxCompact {
		binary.LittleEndian.PutUint64(slot, uint64(v.Int64()))
		return row, nil
	}
	b := twosComplement(v)
	binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|uint64(len(b)))
	row = append(row, b...)
	return append(row, make([]byte, 16-len(b))...), nil
}

// unscaled reads a decimal and brings it to the scale of the type.
func (t *sqlType) unscaled(json []byte) (*big.Int, error) {
	v, scale, err := parseDecimal(json)
	if err != nil {
		return nil, err
	}
	if scale < -maxScale || int(scale) > t.scale {
		return nil, fmt.Errorf("no more than %d digits after the point are expected", t.scale)
	}
	v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.scale)-int64(scale)), nil))
	if len(new(big.Int).Abs(v).String()) > t.precision {
		return nil, fmt.Errorf("no more than %d digits are expected", t.precision)
	}
	return v, nil
}

// decimalKey writes a decimal that is no part of a row.
func (t *sqlType) decimalKey(dst, json []byte) ([]byte, error) {
	v, err := t.unscaled(json)
	if err != nil {
		return dst, err
	}
	if t.precision <= maxCompact {
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64())), nil
	}
	b := twosComplement(v)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...), nil
}

func (t *sqlType) encodeTime(row, slot, json []byte) ([]byte, error) {
	if t.typ.Kind == Date || t.typ.Kind == Time {
		v, err := t.dayOrTime(json)
		binary.LittleEndian.PutUint32(slot, uint32(v))
		return row, err
	}
	ms, nanos, err := t.timestamp(json)
	if t.precision <= 3 {
		binary.LittleEndian.PutUint64(slot, uint64(ms))
		return row, err
	}
	binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|uint64(nanos))
	return binary.LittleEndian.AppendUint64(row, uint64(ms)), err
}

// dayOrTime reads a date as a day since 1970, or a time as ms of the day.
func (t *sqlType) dayOrTime(json []byte) (int32, error) {
	if t.typ.Kind == Date {
		v, err := parseTime(json, time.DateOnly, "2006-01-02")
		return int32(floorDiv(v.Unix(), secondsPerDay)), err
	}
	v, err := parseTime(json, "15:04:05.999999999", "15:04:05.999")
	if err != nil {
		v, err = parseTime(json, "15:04", "15:04:05.999")
	}
	return int32(v.Hour()*3600_000 + v.Minute()*60_000 + v.Second()*1000 + v.Nanosecond()/1e6), err
}

// timestamp reads ms since the epoch, and nanoseconds of that ms.
func (t *sqlType) timestamp(json []byte) (ms int64, nanos int32, err error) {
	const example = "2006-01-02T15:04:05.999"
	var v time.Time
	if t.typ.Kind == Instant {
		v, err = parseTime(json, time.RFC3339Nano, example+"Z")
	} else if v, err = parseTime(json, "2006-01-02T15:04:05.999999999", example); err != nil {
		v, err = parseTime(json, "2006-01-02T15:04", example)
	}
	return v.UnixMilli(), int32(v.Nanosecond() % 1e6), err
}

// timestampKey writes a timestamp that is no part of a row.
func (t *sqlType) timestampKey(dst, json []byte) ([]byte, error) {
	ms, nanos, err := t.timestamp(json)
	dst = binary.BigEndian.AppendUint64(dst, uint64(ms))
	if t.precision > 3 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(nanos))
	}
	return dst, err
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
