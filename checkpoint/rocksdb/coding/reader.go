// Package coding reads the numbers and strings of RocksDB's files: little-endian fixed ints, LEB128 varints and
// length-prefixed strings.
//
// It knows fault only; ikey, manifest and sst read through it.
package coding

import (
	"encoding/binary"
	"fmt"

	"github.com/statebridge/statebridge/fault"
)

// Reader reads a buffer front to back. The first fault sticks: from then on every read gives zero values, and Err says
// what broke and where. Slices alias the buffer.
type Reader struct {
	file string
	off  int64 // of buf[0] in file
	buf  []byte
	err  error
}

// NewReader reads buf, which stands at offset off of file (a name for messages).
func NewReader(file string, off int64, buf []byte) *Reader {
	return &Reader{file: file, off: off, buf: buf}
}

// Err gives the first fault, or nil.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.buf) }

// Offset is the position in the file of the next byte.
func (r *Reader) Offset() int64 { return r.off }

// Fail records a corruption at the present offset unless a fault stands already.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.Corrupt(r.file, r.off, format, args...)
	}
}

// Unsupported records what is not read here unless a fault stands already.
func (r *Reader) Unsupported(format string, args ...any) {
	if r.err == nil {
		r.err = fault.Unsupported(r.file, r.off, format, args...)
	}
}

// Take consumes n bytes and aliases them; nil once broken.
func (r *Reader) Take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.buf)) {
		r.short(n)
		return nil
	}
	b := r.buf[:n:n]
	r.buf, r.off = r.buf[n:], r.off+int64(n)
	return b
}

func (r *Reader) short(n uint64) {
	r.err = &fault.CorruptError{File: r.file, Offset: r.off, Truncated: true,
		Reason: fmt.Sprintf("%d bytes wanted, %d left", n, len(r.buf))}
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Fixed32 reads four bytes.
func (r *Reader) Fixed32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Fixed64 reads eight bytes.
func (r *Reader) Fixed64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint64 reads a varint of at most 64 bits.
func (r *Reader) Uvarint64() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.buf)
	if n == 0 {
		r.short(uint64(len(r.buf)) + 1)
		return 0
	}
	if n < 0 {
		r.Fail("varint longer than 64 bits")
		return 0
	}
	r.buf, r.off = r.buf[n:], r.off+int64(n)
	return v
}

// Uvarint32 reads a varint of at most 32 bits.
func (r *Reader) Uvarint32() uint32 {
	off := r.off
	v := r.Uvarint64()
	if v > 1<<32-1 && r.err == nil {
		r.err = fault.Corrupt(r.file, off, "varint %d longer than 32 bits", v)
		return 0
	}
	return uint32(v)
}

// Bytes reads a varint32 length and that many bytes.
func (r *Reader) Bytes() []byte { return r.Take(uint64(r.Uvarint32())) }
