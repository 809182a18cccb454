// Package ikey holds RocksDB's internal keys: a user key with the sequence number and kind of the entry behind it.
//
//	+----------+------------------------------------------+
//	| user key | sequence number << 8 | kind (8 bytes LE) |
//	+----------+------------------------------------------+
//
// Their order is the user key's bytes ascending, then the trailer descending, so that the newest entry of a key comes first.
// The package knows nobody; manifest, sst and rocksdb know it.
package ikey

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
)

// TrailerSize is the number of bytes behind the user key.
const TrailerSize = 8

// MaxSeq is above every sequence number that an entry can have; it marks boundaries only.
const MaxSeq = 1<<56 - 1

// Kind says what an entry does to its key.
type Kind uint8

// The kinds that tables hold. Everything else lives in write-ahead logs only.
const (
	Delete         Kind = 0x00
	Value          Kind = 0x01
	Merge          Kind = 0x02
	SingleDelete   Kind = 0x07
	RangeDelete    Kind = 0x0F
	BlobIndex      Kind = 0x11
	DeleteWithTime Kind = 0x14
	WideColumns    Kind = 0x16
	ValueWithSeq   Kind = 0x18 // a value with the sequence number it would rather have in its last 8 bytes
)

func (k Kind) String() string {
	switch k {
	case Delete:
		return "deletion"
	case Value:
		return "value"
	case Merge:
		return "merge"
	case SingleDelete:
		return "single deletion"
	case RangeDelete:
		return "range deletion"
	case BlobIndex:
		return "blob index"
	case DeleteWithTime:
		return "deletion with timestamp"
	case WideColumns:
		return "wide-column entity"
	case ValueWithSeq:
		return "value with preferred sequence number"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Split takes an internal key apart; ok is false when it is too short.
func Split(ik []byte) (user []byte, seq uint64, kind Kind, ok bool) {
	n := len(ik) - TrailerSize
	if n < 0 {
		return nil, 0, 0, false
	}
	t := binary.LittleEndian.Uint64(ik[n:])
	return ik[:n:n], t >> 8, Kind(t), true
}

// User gives the user key of an internal key known to be long enough.
func User(ik []byte) []byte { return ik[:len(ik)-TrailerSize] }

// Trailer packs a sequence number and a kind.
func Trailer(seq uint64, kind Kind) uint64 { return seq<<8 | uint64(kind) }

// Append appends the internal key of its parts to dst.
func Append(dst, user []byte, seq uint64, kind Kind) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, user...), Trailer(seq, kind))
}

// Compare orders two internal keys known to be long enough.
func Compare(a, b []byte) int {
	if c := bytes.Compare(User(a), User(b)); c != 0 {
		return c
	}
	return cmp.Compare(binary.LittleEndian.Uint64(b[len(b)-TrailerSize:]), binary.LittleEndian.Uint64(a[len(a)-TrailerSize:]))
}

// ExclusiveEnd tells whether ik, as the largest key of a file, stands just before its user key: the end of a range
// tombstone that was cut there, which no entry of the file reaches.
func ExclusiveEnd(ik []byte) bool {
	_, seq, _, ok := Split(ik)
	return ok && seq == MaxSeq
}
