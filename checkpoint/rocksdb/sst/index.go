package sst

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
)

// indexEntries walks an index block: separator keys, each at or above all keys of its block and below those of the next.
//
// Where handles are delta-encoded (format version 4 and up) an entry that shares key bytes stores only how much larger its
// block is than the one before it, which it follows directly. No value length is stored then.
type indexEntries struct {
	entries
	form indexForm
	at   handle
}

// indexForm is how the index of a table is written. The index over filter partitions is written alike.
type indexForm struct {
	userKeys bool // no sequence numbers behind the keys
	delta    bool // handles are delta-encoded
	firstKey bool // the first internal key of the block follows its handle
}

func (x *indexEntries) reset(b block, form indexForm) {
	x.entries.reset(b)
	x.form, x.at = form, handle{}
}

// rewind goes before the first entry.
func (x *indexEntries) rewind() { x.reset(x.block, x.form) }

func (x *indexEntries) step() bool {
	if !x.form.delta {
		return x.entries.step() && x.handle(x.value, 0)
	}
	p := x.entries.entries[x.next:]
	if len(p) == 0 || x.err != nil {
		return false
	}
	h := slowHead(p, 2)
	if h.size == 0 || h.shared > len(x.key) || h.unshared > len(p)-h.size {
		x.err = x.corrupt("malformed index entry at byte %d of the block", x.next)
		return false
	}
	x.key = append(x.key[:h.shared], p[h.size:h.size+h.unshared]...)
	x.next += h.size + h.unshared
	return x.handle(p[h.size+h.unshared:], h.shared)
}

// handle decodes the value at the start of p, and consumes it where entries have no value length.
func (x *indexEntries) handle(p []byte, shared int) bool {
	n, ok := x.at.decode(p, x.form.delta && shared > 0)
	if ok && x.form.firstKey {
		size, k := binary.Uvarint(p[n:])
		if ok = k > 0 && size <= uint64(len(p)-n-k); ok {
			n += k + int(size)
		}
	}
	if !ok || !x.form.userKeys && len(x.key) < ikey.TrailerSize {
		x.err = x.corrupt("malformed index value before byte %d of the block", x.next)
		return false
	}
	if x.form.delta {
		x.next += n
	}
	return true
}

// decode reads a handle, or with delta the growth over the handle before it, and gives its length in p.
func (h *handle) decode(p []byte, delta bool) (n int, ok bool) {
	if delta {
		d, n := binary.Varint(p)
		h.offset += h.size + trailerSize
		h.size += uint64(d)
		return n, n > 0 && h.size <= math.MaxInt64
	}
	off, n := binary.Uvarint(p)
	if n <= 0 {
		return 0, false
	}
	size, k := binary.Uvarint(p[n:])
	if k <= 0 {
		return 0, false
	}
	h.offset, h.size = off, size
	return n + k, true
}

// seek moves to the first block that can hold keys at or after the given user key's newest entry.
func (x *indexEntries) seek(user []byte) bool {
	lo, hi := 0, len(x.restarts)/4
	for lo < hi && x.err == nil {
		mid := int(uint(lo+hi) >> 1)
		if k := x.restartKey(mid); x.err == nil && x.below(k, user) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	x.next, x.key, x.at = 0, x.key[:0], handle{}
	if lo > 0 {
		x.next = int(binary.LittleEndian.Uint32(x.restarts[4*(lo-1):]))
	}
	for x.step() {
		if !x.below(x.key, user) {
			return true
		}
	}
	return false
}

// below tells whether an index key stands before the newest possible entry of a user key.
func (x *indexEntries) below(key, user []byte) bool {
	if !x.form.userKeys {
		if len(key) < ikey.TrailerSize {
			return false
		}
		key = ikey.User(key)
	}
	return bytes.Compare(key, user) < 0
}

// restartKey gives the whole key of restart i.
func (x *indexEntries) restartKey(i int) []byte {
	if !x.form.delta {
		return x.entries.restartKey(i)
	}
	if off := int(binary.LittleEndian.Uint32(x.restarts[4*i:])); off < len(x.entries.entries) {
		p := x.entries.entries[off:]
		if h := slowHead(p, 2); h.size > 0 && h.shared == 0 && h.unshared <= len(p)-h.size {
			return p[h.size : h.size+h.unshared]
		}
	}
	if x.err == nil {
		x.err = x.corrupt("malformed restart %d", i)
	}
	return nil
}
