package state

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// rowForm says what the bytes of a SQL row are.
type rowForm uint8

const (
	binaryRow    rowForm = iota // slots, as Flink and Paimon have them
	compactedRow                // Fluss's default
	indexedRow                  // Fluss, when a table asks for it
)

// Fluss knows two more forms of rows. Numbers are little-endian; a varint is the bit pattern of the number, so that a negative one takes all
// the bytes that it can. Nothing is stored of a null.
//
//	compacted: | null bits, 1 = null, ceil(n/8) B | value value … |
//	           INT, DATE, TIME, BIGINT: varint · DECIMAL up to 18 digits: varint · TIMESTAMP: varint of ms, beyond a precision of 3 and varint of ns
//	           all that has no fixed size: varint of the length, bytes
//	indexed:   | null bits | room for an int32 a column without a fixed size: the lengths of those that are not null, then nothing | value value … |
//
// Arrays and maps in them are those of sqlrow.go, whose rows again have the form of the row around.

// appendFlussRow appends a row that takes all of b.
func (t *sqlType) appendFlussRow(dst, b []byte, r *javaio.Reader) []byte {
	var row javaio.Reader
	row.Reset(r.File(), r.Offset(), b)
	dst = t.appendFields(append(dst, '{'), &row)
	row.End()
	r.SetErr(row.Err())
	return closeObject(dst)
}

// appendFields appends the members of a row, each with a comma behind.
func (t *sqlType) appendFields(dst []byte, r *javaio.Reader) []byte {
	nulls := r.Take((len(t.fields) + 7) / 8)
	var lengths []byte
	if t.form == indexedRow {
		lengths = r.Take(4 * t.unfixed())
	}
	for i, f := range t.fields {
		if full(dst, r) {
			break
		}
		dst = append(dst, t.quoted[i]...)
		switch {
		case nulls[i/8]&(1<<(i%8)) != 0:
			dst = appendNull(dst)
		case t.form == compactedRow:
			dst = f.appendCompacted(dst, r)
		case f.fixedLen() >= 0:
			dst = f.appendFixed(dst, r, r.Take(f.fixedLen()))
		default:
			n := binary.LittleEndian.Uint32(lengths)
			lengths = lengths[4:]
			dst = f.appendBlob(dst, r, take32(r, uint64(n)))
		}
		dst = append(dst, ',')
	}
	return dst
}

// unfixed counts the columns that have a length in an indexed row.
func (t *sqlType) unfixed() (n int) {
	for _, f := range t.fields {
		if f.fixedLen() < 0 {
			n++
		}
	}
	return n
}

// fixedLen is what a value takes in an indexed row, or -1.
func (t *sqlType) fixedLen() int {
	switch t.typ.Kind {
	case String, Bytes:
		if t.length > 0 {
			return t.length
		}
		return -1
	case Decimal:
		if t.precision > maxCompact {
			return -1
		}
	case DateTime, Instant:
		if t.precision > 3 {
			return 12
		}
	case List, Map, Record:
		return -1
	}
	return t.width()
}

// appendFixed appends a value of an indexed row that has a fixed size; b is nil after a fault.
func (t *sqlType) appendFixed(dst []byte, r *javaio.Reader, b []byte) []byte {
	if b == nil {
		return appendNull(dst)
	}
	switch t.typ.Kind {
	case String: // CHAR is filled up with NULs
		n := len(b)
		for n > 0 && b[n-1] == 0 {
			n--
		}
		return appendQuoted(dst, b[:n])
	case Bytes:
		return appendBase64(dst, b)
	case DateTime, Instant:
		nanos := uint32(0)
		if len(b) > 8 {
			nanos = binary.LittleEndian.Uint32(b[8:])
		}
		return t.appendTimestamp(dst, r, int64(binary.LittleEndian.Uint64(b)), int32(nanos))
	case Int64, Float64, Decimal:
		return t.appendWide(dst, r, binary.LittleEndian.Uint64(b))
	}
	return t.appendNarrow(dst, r, b)
}

// appendWide appends a number of eight bytes.
func (t *sqlType) appendWide(dst []byte, r *javaio.Reader, v uint64) []byte {
	switch t.typ.Kind {
	case Float64:
		return appendFloat(dst, math.Float64frombits(v), 64)
	case Decimal:
		return t.appendDecimalSlot(dst, &sqlPart{r: r}, v)
	}
	return strconv.AppendInt(dst, int64(v), 10)
}

// appendCompacted appends a value of a compacted row, or of a key, which is one without null bits.
func (t *sqlType) appendCompacted(dst []byte, r *javaio.Reader) []byte {
	switch t.typ.Kind {
	case Bool, Int8, Int16, Float32, Float64:
		return t.appendFixed(dst, r, r.Take(t.width()))
	case Int32, Date, Time:
		var slot [4]byte
		binary.LittleEndian.PutUint32(slot[:], varint32(r))
		return t.appendNarrow(dst, r, slot[:])
	case Int64:
		return t.appendWide(dst, r, r.Uvarint())
	case DateTime, Instant:
		ms, nanos := int64(r.Uvarint()), int32(0)
		if t.precision > 3 {
			nanos = int32(varint32(r))
		}
		return t.appendTimestamp(dst, r, ms, nanos)
	case Decimal:
		if t.precision <= maxCompact {
			return t.appendWide(dst, r, r.Uvarint())
		}
	}
	return t.appendBlob(dst, r, take32(r, r.Uvarint()))
}

// appendBlob appends a value that has bytes of its own; b is nil after a fault.
func (t *sqlType) appendBlob(dst []byte, r *javaio.Reader, b []byte) []byte {
	if r.Err() != nil {
		return appendNull(dst)
	}
	switch t.typ.Kind {
	case String:
		return appendQuoted(dst, b)
	case Bytes:
		return appendBase64(dst, b)
	case Decimal:
		return appendPlainDecimal(dst, b, t.scale, r)
	}
	return t.appendPart(dst, b, r)
}

// varint32 reads a varint of 32 bits.
func varint32(r *javaio.Reader) uint32 {
	v := r.Uvarint()
	if v > math.MaxUint32 {
		r.Fail("varint longer than 32 bits")
	}
	return uint32(v)
}

// take32 takes as many bytes as a length says, which is an int32 of Java's.
func take32(r *javaio.Reader, n uint64) []byte {
	if n > math.MaxInt32 {
		r.Fail("a length of %d bytes", n)
		return nil
	}
	return r.Take(int(n))
}
