package manifest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/statebridge/statebridge/fault"
)

const (
	logBlock  = 32 << 10
	logHeader = 7
)

// Fragment types. 5 to 8 are those of recycled logs, which a MANIFEST never is.
const (
	padding = iota
	full
	first
	middle
	last
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// logReader gives the records of a log one by one. Unlike RocksDB it does not take a broken tail for the end: a
// snapshot's MANIFEST was copied whole, and one edit less is another state.
type logReader struct {
	file  string
	buf   []byte
	off   int // of the next fragment
	start int // of the record last given
}

// next gives the next record, or ok false at the end. A record of one fragment aliases the buffer.
func (l *logReader) next() (record []byte, ok bool, err error) {
	inside := false
	for {
		at := l.off
		kind, payload, err := l.fragment()
		if err != nil {
			return nil, false, err
		}
		switch {
		case kind == padding && inside:
			return nil, false, l.truncated(at, "record without its last fragment")
		case kind == padding:
			return nil, false, nil
		case (kind == full || kind == first) == inside:
			return nil, false, fault.Corrupt(l.file, int64(at), "fragment of type %d out of order", kind)
		}
		if !inside {
			l.start = at
		}
		switch kind {
		case full:
			return payload, true, nil
		case first:
			record = append([]byte(nil), payload...)
			inside = true
		default:
			record = append(record, payload...)
		}
		if kind == last {
			return record, true, nil
		}
	}
}

// fragment gives the next one; type padding stands for the end of the log.
func (l *logReader) fragment() (kind int, payload []byte, err error) {
	if left := logBlock - l.off%logBlock; left < logHeader { // too few bytes for a header are zeros
		if err := l.zeros(min(left, len(l.buf)-l.off)); err != nil {
			return 0, nil, err
		}
	}
	if l.off >= len(l.buf) {
		return padding, nil, nil
	}
	if len(l.buf)-l.off < logHeader {
		return 0, nil, l.truncated(l.off, "log header cut short")
	}
	h := l.buf[l.off : l.off+logHeader]
	size, kind := int(binary.LittleEndian.Uint16(h[4:])), int(h[6])
	if kind == padding && size == 0 { // space laid out ahead of the writer: nothing may follow
		return padding, nil, l.zeros(len(l.buf) - l.off)
	}
	if kind < full || kind > last {
		return 0, nil, fault.Unsupported(l.file, int64(l.off), "log record type %d unsupported", kind)
	}
	return l.checked(kind, size, h)
}

func (l *logReader) checked(kind, size int, h []byte) (int, []byte, error) {
	end := l.off + logHeader + size
	if size > logBlock-logHeader-l.off%logBlock {
		return 0, nil, fault.Corrupt(l.file, int64(l.off), "fragment of %d bytes crosses its block", size)
	}
	if end > len(l.buf) {
		return 0, nil, l.truncated(l.off, "fragment of %d bytes, %d left", size, len(l.buf)-l.off-logHeader)
	}
	sum := crc32.Checksum(l.buf[l.off+6:end], castagnoli)
	if got := bits.RotateLeft32(sum, -15) + 0xa282ead8; got != binary.LittleEndian.Uint32(h) {
		return 0, nil, fault.Corrupt(l.file, int64(l.off), "checksum mismatch in log record")
	}
	payload := l.buf[l.off+logHeader : end]
	l.off = end
	return kind, payload, nil
}

// zeros steps over n bytes that must be zero.
func (l *logReader) zeros(n int) error {
	for i, b := range l.buf[l.off : l.off+n] {
		if b != 0 {
			return fault.Corrupt(l.file, int64(l.off+i), "byte %#02x where the log is padded", b)
		}
	}
	l.off += n
	return nil
}

func (l *logReader) truncated(off int, format string, args ...any) error {
	return &fault.CorruptError{File: l.file, Offset: int64(off), Reason: fmt.Sprintf(format, args...), Truncated: true}
}
