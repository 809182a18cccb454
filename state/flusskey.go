package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// keyForm says how Fluss encodes the key of a table.
type keyForm uint8

const (
	compactedKey keyForm = iota // the values of a compacted row, without null bits
	paimonKey                   // a Paimon row, which is a binary row of Flink's
	icebergKey                  // the bytes that Iceberg hashes: one column, no length
)

// A flussKeyCodec reads the primary key of a table. The bytes hold its columns but for those of the partition, which the snapshot's place gives.
type flussKeyCodec struct {
	typ    Type     // all columns of the primary key
	fixed  [][]byte // JSON of a partition column; nil of those that the bytes hold. Nil if the table has no partitions
	stored *sqlType // a ROW of those
	form   keyForm
}

func (c *flussKeyCodec) Type() *Type           { return &c.typ }
func (c *flussKeyCodec) FixedLen() int         { return -1 }
func (c *flussKeyCodec) minLen() int           { return 0 }
func (c *flussKeyCodec) Skip(r *javaio.Reader) { r.Skip(r.Len()) }

// HashCode does not matter: a bucket has no key groups.
func (c *flussKeyCodec) HashCode([]byte) (int32, bool) { return 0, false }

// AppendJSON appends the key as an array, and puts the partition's columns between the others.
func (c *flussKeyCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	start := len(dst)
	dst = c.appendStored(dst, r)
	if c.fixed == nil || r.Err() != nil {
		return dst
	}
	m, end := jsonscan.MembersOf(dst[start:]), len(dst)
	dst = append(dst, '[')
	for _, fixed := range c.fixed {
		if fixed == nil {
			m.Next()
			fixed = m.Value
		}
		dst = append(append(dst, fixed...), ',')
	}
	dst[len(dst)-1] = ']'
	n := copy(dst[start:], dst[end:])
	return dst[:start+n]
}

func (c *flussKeyCodec) appendStored(dst []byte, r *javaio.Reader) []byte {
	if c.form == paimonKey {
		return c.stored.appendRow(dst, r.Take(r.Len()), r)
	}
	dst = append(dst, '[')
	for i, f := range c.stored.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		if c.form == icebergKey {
			dst = f.appendIceberg(dst, r)
		} else {
			dst = f.appendCompacted(dst, r)
		}
	}
	return append(dst, ']')
}

// AppendKey takes an array of all columns of the primary key.
func (c *flussKeyCodec) AppendKey(dst, json []byte) ([]byte, error) {
	parts, err := elementsOf(json, len(c.typ.Fields))
	if err != nil {
		return dst, err
	}
	stored := make([][]byte, 0, len(parts))
	for i, part := range parts {
		switch {
		case isNull(part):
			return dst, fmt.Errorf("%s: a key has no nulls", c.typ.Fields[i].Name)
		case c.fixed == nil || c.fixed[i] == nil:
			stored = append(stored, part)
		case !bytes.Equal(part, c.fixed[i]):
			return dst, fmt.Errorf("%s: this is the partition of %s", c.typ.Fields[i].Name, c.fixed[i])
		}
	}
	if c.form == paimonKey {
		row, err := c.stored.encodeFields(stored)
		return append(dst, row...), err
	}
	for i, f := range c.stored.fields {
		if c.form == icebergKey {
			dst, err = f.icebergKey(dst, stored[i])
		} else {
			dst, err = f.compactedKey(dst, stored[i])
		}
		if err != nil {
			return dst, fmt.Errorf("%s: %w", c.stored.typ.Fields[i].Name, err)
		}
	}
	return dst, nil
}

// number gives a value without parts as it stands in a slot, little-endian.
func (t *sqlType) number(json []byte) (uint64, error) {
	var slot [8]byte
	_, err := t.encodeSlot(slot[:], 0, json)
	return binary.LittleEndian.Uint64(slot[:]), err
}

// compactedKey writes what appendCompacted reads.
func (t *sqlType) compactedKey(dst, json []byte) ([]byte, error) {
	switch t.typ.Kind {
	case String, Bytes:
		b, err := t.textOf(json)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), err
	case DateTime, Instant:
		ms, nanos, err := t.timestamp(json)
		if dst = binary.AppendUvarint(dst, uint64(ms)); t.precision > 3 {
			dst = binary.AppendUvarint(dst, uint64(nanos))
		}
		return dst, err
	case Decimal:
		v, err := t.unscaled(json)
		if err != nil {
			return dst, err
		}
		if t.precision <= maxCompact {
			return binary.AppendUvarint(dst, uint64(v.Int64())), nil
		}
		b := twosComplement(v)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...), nil
	}
	v, err := t.number(json)
	switch t.typ.Kind {
	case Int32, Date, Time, Int64:
		return binary.AppendUvarint(dst, v), err
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, v)[:t.width()]...), err
}

// appendIceberg appends the value that all bytes hold.
func (t *sqlType) appendIceberg(dst []byte, r *javaio.Reader) []byte {
	switch t.typ.Kind {
	case String, Bytes, Decimal:
		return t.appendBlob(dst, r, r.Take(r.Len()))
	case Float32:
		return t.appendFixed(dst, r, r.Take(4))
	}
	b := r.Take(8)
	if b == nil {
		return appendNull(dst)
	}
	v := int64(binary.LittleEndian.Uint64(b))
	switch t.typ.Kind {
	case Time:
		v /= 1000 // from microseconds
	case DateTime:
		ms := floorDiv(v, 1000)
		return t.appendTimestamp(dst, r, ms, int32(v-1000*ms)*1000)
	case Int64, Float64:
		return t.appendWide(dst, r, uint64(v))
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.Fail("%d is no %s", v, t.root)
		return appendNull(dst)
	}
	var slot [4]byte
	binary.LittleEndian.PutUint32(slot[:], uint32(v))
	return t.appendNarrow(dst, r, slot[:])
}

// icebergKey writes what appendIceberg reads.
func (t *sqlType) icebergKey(dst, json []byte) ([]byte, error) {
	switch t.typ.Kind {
	case String, Bytes:
		b, err := t.textOf(json)
		return append(dst, b...), err
	case Decimal:
		v, err := t.unscaled(json)
		if err != nil {
			return dst, err
		}
		return append(dst, twosComplement(v)...), nil
	case DateTime:
		ms, nanos, err := t.timestamp(json)
		return binary.LittleEndian.AppendUint64(dst, uint64(ms*1000+int64(nanos)/1000)), err
	}
	v, err := t.number(json)
	switch t.typ.Kind {
	case Float32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v)), err
	case Int32, Date:
		v = uint64(int32(v))
	case Time:
		v *= 1000
	}
	return binary.LittleEndian.AppendUint64(dst, v), err
}

var errNoIceberg = errors.New("its type has no key for Iceberg in Fluss")

// checkIceberg says why a type can't be the key of a table with Iceberg's keys.
func (t *sqlType) checkIceberg() error {
	switch t.typ.Kind {
	case Int32, Date, Time, Int64, Float32, Float64, DateTime, Decimal, String, Bytes:
		return nil
	}
	return errNoIceberg
}
