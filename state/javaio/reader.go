// Package javaio reads what java.io.DataOutput and Flink's data views write: big-endian numbers, modified UTF-8, Flink strings.
//
// It knows fault only; state and checkpoint/flink read through it.
package javaio

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/statebridge/statebridge/fault"
)

// Reader reads a buffer front to back. The first fault sticks: from then on every read gives zero values, and Err says
// what broke and where. Byte slices and strings that it hands out alias the buffer unless said otherwise.
type Reader struct {
	file string
	off  int64 // of buf[0] in file
	buf  []byte
	err  error
	deep int    // calls of Enter without Leave
	told string // whose word the bytes are read by
}

// maxDeep bounds how deep values of a recursive type nest.
const maxDeep = 1000

// Enter goes one level down in a value of a recursive type; it faults, and gives false, where values nest too deep to be
// read by recursion. Leave comes back up.
func (r *Reader) Enter() bool {
	if r.deep++; r.deep > maxDeep {
		r.Fail("values nest deeper than %d", maxDeep)
	}
	return r.err == nil
}

// Leave undoes one Enter.
func (r *Reader) Leave() { r.deep-- }

// NewReader reads buf, which stands at offset off of file (a name for messages only).
func NewReader(file string, off int64, buf []byte) *Reader {
	return &Reader{file: file, off: off, buf: buf}
}

// Reset lets r read buf as NewReader does, so that one Reader serves many values.
func (r *Reader) Reset(file string, off int64, buf []byte) {
	*r = Reader{file: file, off: off, buf: buf}
}

// Tell notes whose word what is read from now on rests on, where that is not the file's own. Reset forgets it.
func (r *Reader) Tell(who string) { r.told = who }

// Told gives the last note of Tell, or "".
func (r *Reader) Told() string { return r.told }

// Err gives the first fault, or nil.
func (r *Reader) Err() error { return r.err }

// Offset is the position in the file of the next byte.
func (r *Reader) Offset() int64 { return r.off }

// File is the name given to NewReader.
func (r *Reader) File() string { return r.file }

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.buf) }

// Rest aliases the bytes left, without consuming them.
func (r *Reader) Rest() []byte { return r.buf }

// Fail records a fault.CorruptError at the present offset unless a fault stands already.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.Corrupt(r.file, r.off, format, args...)
	}
}

// Unsupported records a fault.UnsupportedError at the present offset unless a fault stands already.
func (r *Reader) Unsupported(format string, args ...any) {
	if r.err == nil {
		r.err = fault.Unsupported(r.file, r.off, format, args...)
	}
}

// SetErr records err unless a fault stands already.
func (r *Reader) SetErr(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Reader) short(n int) {
	if r.err == nil {
		r.err = &fault.CorruptError{File: r.file, Offset: r.off, Truncated: true,
			Reason: fmt.Sprintf("%d bytes wanted, %d left", n, len(r.buf))}
	}
}

// Take consumes n bytes and aliases them; nil once broken.
func (r *Reader) Take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 {
		r.Fail("negative length %d", n)
		return nil
	}
	if n > len(r.buf) {
		r.short(n)
		return nil
	}
	b := r.buf[:n:n]
	r.buf, r.off = r.buf[n:], r.off+int64(n)
	return b
}

// Skip consumes n bytes.
func (r *Reader) Skip(n int) { r.Take(n) }

// End faults when bytes are left over.
func (r *Reader) End() {
	if r.err == nil && len(r.buf) > 0 {
		r.Fail("%d bytes left over", len(r.buf))
	}
}

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Int8 reads a signed byte.
func (r *Reader) Int8() int8 { return int8(r.Uint8()) }

// Bool reads one byte; anything but 0 is true.
func (r *Reader) Bool() bool { return r.Uint8() != 0 }

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// Int16 reads two bytes.
func (r *Reader) Int16() int16 { return int16(r.Uint16()) }

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Int32 reads four bytes.
func (r *Reader) Int32() int32 { return int32(r.Uint32()) }

// Int64 reads eight bytes.
func (r *Reader) Int64() int64 {
	if b := r.Take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Float32 reads an IEEE 754 single.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Uint32()) }

// Float64 reads an IEEE 754 double.
func (r *Reader) Float64() float64 { return math.Float64frombits(uint64(r.Int64())) }

// Count reads an int32 count of items to come, each of at least minSize bytes, and faults when they cannot fit the
// bytes left: allocate after Count, not before. minSize 0 counts as 1 against a fixed cap.
func (r *Reader) Count(minSize int) int {
	n := int(r.Int32())
	if r.err != nil {
		return 0
	}
	return r.checkCount(n, minSize)
}

// maxEmptyItems bounds the count of items that take no bytes at all.
const maxEmptyItems = 1 << 10

func (r *Reader) checkCount(n, minSize int) int {
	switch {
	case n < 0:
		r.Fail("negative count %d", n)
	case minSize <= 0 && n > maxEmptyItems:
		r.Fail("count %d of empty items", n)
	case minSize > 0 && n > len(r.buf)/minSize:
		r.short(n * minSize)
	default:
		return n
	}
	return 0
}

// Uvarint reads an unsigned LEB128 number of at most 64 bits.
func (r *Reader) Uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.buf)
	switch {
	case n == 0:
		r.short(len(r.buf) + 1)
		return 0
	case n < 0:
		r.Fail("varint longer than 64 bits")
		return 0
	}
	r.buf, r.off = r.buf[n:], r.off+int64(n)
	return v
}

// UTF reads a u16 byte length and modified UTF-8. The result is a copy in WTF-8: UTF-8 in which a lone surrogate keeps its three bytes.
func (r *Reader) UTF() string {
	n := int(r.Uint16())
	b := r.Take(n)
	if b == nil {
		return ""
	}
	s, ok := AppendModifiedUTF8(nil, b)
	if !ok {
		r.Fail("malformed modified UTF-8")
		return ""
	}
	return string(s)
}
