package state

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// The binary forms of SQL rows, arrays and maps are little-endian:
//
//	row:   | kind (1B) and null bits, up to 8 bytes' multiple | n slots of 8 bytes | parts, at offsets from the row's start |
//	array: | n (4B) | null bits, 4 bytes' multiple | n elements of 1, 2, 4 or 8 bytes | parts, at offsets from the array's start |
//	map:   | bytes of the keys (4B) | array of keys | array of values |
//
// A slot holds a number, or text of up to 7 bytes with its length in the last one, or offset<<32 | length of a part.

// A sqlPart is a row or an array. Its parts may not overlap, so that nested parts cannot claim more bytes than there are.
type sqlPart struct {
	b    []byte
	room int // bytes that its parts have not taken
	r    *javaio.Reader
}

// at gives the part that a slot names.
func (p *sqlPart) at(slot uint64) []byte {
	return p.sub(int(slot>>32), int(slot&math.MaxUint32))
}

func (p *sqlPart) sub(offset, size int) []byte {
	if offset > len(p.b) || size > len(p.b)-offset || size > p.room {
		p.r.Fail("a part of %d bytes at %d of %d does not fit", size, offset, len(p.b))
		return nil
	}
	p.room -= size
	return p.b[offset : offset+size]
}

// text gives the bytes of a string or binary slot.
func (p *sqlPart) text(slot []byte) []byte {
	if slot[7]&0x80 == 0 {
		return p.at(binary.LittleEndian.Uint64(slot))
	}
	n := int(slot[7] & 0x7F)
	if n > 7 {
		p.r.Fail("%d bytes in a slot", n)
		return nil
	}
	return slot[:n]
}

// appendRow appends a row as an array: only nested rows have names, and a row looks the same wherever it stands.
func (t *sqlType) appendRow(dst, b []byte, r *javaio.Reader) []byte {
	header := (len(t.fields) + 63 + 8) / 64 * 8
	fixed := header + 8*len(t.fields)
	if len(b) < fixed {
		r.Fail("a row of %d fields in %d bytes", len(t.fields), len(b))
		return appendNull(dst)
	}
	p := sqlPart{b, len(b) - fixed, r}
	dst = append(dst, '[')
	for i, f := range t.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		bit := i + 8
		if b[bit/8]&(1<<(bit%8)) != 0 {
			dst = appendNull(dst)
			continue
		}
		if dst = f.appendSlot(dst, &p, b[header+8*i:header+8*i+8]); r.Err() != nil {
			break
		}
	}
	return append(dst, ']')
}

// A sqlArray is an array that was checked to hold its elements.
type sqlArray struct {
	part     sqlPart
	elem     *sqlType
	n, start int // elements, and where they start
}

func newSQLArray(elem *sqlType, b []byte, r *javaio.Reader) sqlArray {
	if len(b) < 4 {
		r.Fail("an array of %d bytes", len(b))
		return sqlArray{}
	}
	n := int(binary.LittleEndian.Uint32(b))
	start := 4 + (n+31)/32*4
	if n > len(b) || start+n*elem.width() > len(b) {
		r.Fail("an array of %d elements in %d bytes", n, len(b))
		return sqlArray{}
	}
	return sqlArray{sqlPart{b, len(b) - start - n*elem.width(), r}, elem, n, start}
}

func (a *sqlArray) appendElem(dst []byte, i int) []byte {
	if a.part.b[4+i/8]&(1<<(i%8)) != 0 {
		return appendNull(dst)
	}
	w := a.elem.width()
	at := a.start + i*w
	return a.elem.appendSlot(dst, &a.part, a.part.b[at:at+w])
}

func (t *sqlType) appendArray(dst, b []byte, r *javaio.Reader) []byte {
	a := newSQLArray(t.elem, b, r)
	dst = append(dst, '[')
	for i := range a.n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = a.appendElem(dst, i); r.Err() != nil {
			break
		}
	}
	return append(dst, ']')
}

func (t *sqlType) appendMap(dst, b []byte, r *javaio.Reader) []byte {
	size := uint32(0)
	if len(b) >= 4 {
		size = binary.LittleEndian.Uint32(b)
	}
	if len(b) < 4 || uint64(size) > uint64(len(b)-4) {
		r.Fail("a map of %d bytes, %d of them keys", len(b), size)
		return appendNull(dst)
	}
	keys, values := newSQLArray(t.key, b[4:4+size], r), newSQLArray(t.elem, b[4+size:], r)
	if r.Err() == nil && keys.n != values.n {
		r.Fail("%d keys and %d values", keys.n, values.n)
	}
	if r.Err() != nil {
		return appendNull(dst)
	}
	bag, strings := newBag(dst), true
	for i := range keys.n {
		at := len(dst)
		dst = keys.appendElem(dst, i)
		strings = strings && t.key.typ.Kind == String && dst[at] == '"'
		bag.key(dst)
		if dst = bag.value(values.appendElem(dst, i)); r.Err() != nil {
			break
		}
	}
	return bag.finish(dst, mapShape(strings))
}

// appendSlot appends the value in a slot of its width: of a row always of 8 bytes, of which a narrow value has the first.
func (t *sqlType) appendSlot(dst []byte, p *sqlPart, slot []byte) []byte {
	switch t.width() {
	case 1, 2, 4:
		return t.appendNarrow(dst, p.r, slot)
	}
	v := binary.LittleEndian.Uint64(slot)
	switch t.typ.Kind {
	case Int64:
		return strconv.AppendInt(dst, int64(v), 10)
	case Float64:
		return appendFloat(dst, math.Float64frombits(v), 64)
	case String:
		return appendQuoted(dst, p.text(slot))
	case Bytes:
		return appendBase64(dst, p.text(slot))
	case Decimal:
		return t.appendDecimalSlot(dst, p, v)
	case DateTime, Instant:
		if t.precision <= 3 {
			return t.appendTimestamp(dst, p.r, int64(v), 0)
		}
		ms := p.sub(int(v>>32), 8)
		if ms == nil {
			return appendNull(dst)
		}
		return t.appendTimestamp(dst, p.r, int64(binary.LittleEndian.Uint64(ms)), int32(v))
	}
	return t.appendPart(dst, p.at(v), p.r)
}

// appendPart appends a value that has bytes of its own.
func (t *sqlType) appendPart(dst, b []byte, r *javaio.Reader) []byte {
	switch {
	case r.Err() != nil:
		return appendNull(dst)
	case t.typ.Kind == List:
		return t.appendArray(dst, b, r)
	case t.typ.Kind == Map:
		return t.appendMap(dst, b, r)
	case t.root == "ROW" && t.form == binaryRow:
		return t.appendRow(dst, b, r)
	case t.root == "ROW":
		return t.appendFlussRow(dst, b, r)
	}
	return appendRaw(dst, b, t.typ.Class, t.typ.Why)
}

func (t *sqlType) appendNarrow(dst []byte, r *javaio.Reader, slot []byte) []byte {
	switch t.width() {
	case 1:
		if t.typ.Kind == Bool {
			return appendBool(dst, slot[0] != 0)
		}
		return strconv.AppendInt(dst, int64(int8(slot[0])), 10)
	case 2:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(slot))), 10)
	}
	v := binary.LittleEndian.Uint32(slot)
	switch t.typ.Kind {
	case Float32:
		return appendFloat(dst, float64(math.Float32frombits(v)), 32)
	case Date:
		return append(civil(int64(int32(v))).append(append(dst, '"')), '"')
	case Time:
		return appendTimeOfDay(dst, r, int32(v))
	}
	return strconv.AppendInt(dst, int64(int32(v)), 10)
}

// appendTimeOfDay appends a time given as ms of the day.
func appendTimeOfDay(dst []byte, r *javaio.Reader, ms int32) []byte {
	if ms < 0 || ms >= secondsPerDay*1000 {
		r.Fail("%d ms of a day", ms)
		return appendNull(dst)
	}
	t := clock{ms / 3600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000 * 1e6}
	return append(t.appendSQL(append(dst, '"'), false), '"')
}

// appendTimestamp appends ms since the epoch and nanoseconds of that ms, with a Z where the type has a time zone.
func (t *sqlType) appendTimestamp(dst []byte, r *javaio.Reader, ms int64, nanos int32) []byte {
	if nanos < 0 || nanos >= 1e6 {
		r.Fail("%d nanoseconds of a millisecond", nanos)
		return appendNull(dst)
	}
	const perDay = secondsPerDay * 1000
	day := floorDiv(ms, perDay)
	left := int32(ms - day*perDay)
	c := clock{left / 3600_000, left / 60_000 % 60, left / 1000 % 60, left%1000*1e6 + nanos}
	zone := t.typ.Kind == Instant
	dst = c.appendSQL(append(civil(day).append(append(dst, '"')), 'T'), zone)
	if zone {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

// appendSQL appends a time as Flink's SQL prints it: a fraction of three, six or nine digits, and no seconds where there
// are none, unless the time has a zone.
func (t clock) appendSQL(dst []byte, zone bool) []byte {
	if t.second == 0 && t.nanos == 0 && !zone {
		dst = appendPadded(dst, int64(t.hour), 2)
		return appendPadded(append(dst, ':'), int64(t.minute), 2)
	}
	dst = clock{t.hour, t.minute, t.second, 0}.append(dst)
	switch n := int64(t.nanos); {
	case n == 0:
	case n%1e6 == 0:
		dst = appendPadded(append(dst, '.'), n/1e6, 3)
	case n%1e3 == 0:
		dst = appendPadded(append(dst, '.'), n/1e3, 6)
	default:
		dst = appendPadded(append(dst, '.'), n, 9)
	}
	return dst
}

// maxCompact is the largest precision of a decimal that fits eight bytes.
const maxCompact = 18

func (t *sqlType) appendDecimalSlot(dst []byte, p *sqlPart, v uint64) []byte {
	if t.precision <= maxCompact {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], v)
		return appendPlainDecimal(dst, b[:], t.scale, p.r)
	}
	return appendPlainDecimal(dst, p.at(v), t.scale, p.r)
}

// appendPlainDecimal appends unscaled × 10^-scale without an exponent, as SQL has it.
func appendPlainDecimal(dst, unscaled []byte, scale int, r *javaio.Reader) []byte {
	unscaled = checkBig(r, unscaled)
	if r.Err() != nil || scale < 0 || scale > maxScale || len(unscaled) == 0 {
		r.Fail("a decimal of %d bytes and scale %d", len(unscaled), scale)
		return appendNull(dst)
	}
	dst = append(dst, '"')
	start := len(dst)
	dst = appendTwosComplement(dst, unscaled)
	if scale == 0 {
		return append(dst, '"')
	}
	if dst[start] == '-' {
		start++
	}
	for len(dst)-start <= scale {
		dst = insert(dst, start, '0')
	}
	return append(insert(dst, len(dst)-scale, '.'), '"')
}

// maxScale is the largest scale of a SQL decimal.
const maxScale = 38
