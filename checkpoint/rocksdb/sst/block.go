package sst

import (
	"encoding/binary"

	"github.com/statebridge/statebridge/fault"
)

// Feature bits of the u32 at a block's end; the rest counts the restarts.
const (
	hashIndexBit   = 1 << 31
	uniformKeysBit = 1 << 29 // a hint for the search
	separatedKVBit = 1 << 28 // values stand apart from the keys
	restartsMask   = separatedKVBit - 1
)

// block is an uncompressed block taken apart. Offsets inside it are its own: name and offset are for messages.
type block struct {
	name     string // of the file
	offset   int64  // of the stored block in the file
	entries  []byte
	restarts []byte // u32 each
}

func parseBlock(name string, offset int64, b []byte) (block, error) {
	if len(b) < 4 {
		return block{}, fault.Corrupt(name, offset, "block of %d bytes", len(b))
	}
	end := len(b) - 4
	packed := binary.LittleEndian.Uint32(b[end:])
	switch {
	case packed&separatedKVBit != 0:
		return block{}, fault.Unsupported(name, offset, "block with separated keys and values unsupported")
	case packed&^(hashIndexBit|uniformKeysBit|restartsMask) != 0:
		return block{}, fault.Unsupported(name, offset, "block with unknown features %#x unsupported", packed&^restartsMask)
	case packed&hashIndexBit != 0: // its buckets only speed up look-ups
		if end < 2 || end-2 < int(binary.LittleEndian.Uint16(b[end-2:])) {
			return block{}, fault.Corrupt(name, offset, "hash index does not fit its block")
		}
		end -= 2 + int(binary.LittleEndian.Uint16(b[end-2:]))
	}
	n := int(packed & restartsMask)
	if n > end/4 {
		return block{}, fault.Corrupt(name, offset, "%d restarts do not fit %d bytes", n, end)
	}
	return block{name: name, offset: offset, entries: b[:end-4*n], restarts: b[end-4*n : end]}, nil
}

func (b *block) corrupt(format string, args ...any) error {
	return fault.Corrupt(b.name, b.offset, format, args...)
}

// entryHead is the start of an entry: how much of the key it shares with the one before, and the sizes of what follows.
type entryHead struct {
	shared, unshared, value int
	size                    int // of the head itself; 0 when it is malformed
}

// head decodes the three lengths at the start of p.
func head(p []byte) (h entryHead) {
	if len(p) >= 3 && p[0]|p[1]|p[2] < 0x80 {
		return entryHead{int(p[0]), int(p[1]), int(p[2]), 3}
	}
	return slowHead(p, 3)
}

// slowHead decodes n lengths of any size.
func slowHead(p []byte, n int) (h entryHead) {
	var v [3]int
	at := 0
	for i := range n {
		u, k := binary.Uvarint(p[at:])
		if k <= 0 || u > 1<<32-1 {
			return entryHead{}
		}
		v[i], at = int(u), at+k
	}
	return entryHead{v[0], v[1], v[2], at}
}

// entries walks a block's entries. The key is put together in a buffer that is kept; the value aliases the block.
type entries struct {
	block
	next  int // offset of the next entry
	key   []byte
	value []byte
	err   error
}

func (e *entries) reset(b block) {
	e.block, e.next, e.key, e.value, e.err = b, 0, e.key[:0], nil, nil
}

// step moves to the next entry; false at the end or at a fault.
func (e *entries) step() bool {
	p := e.entries[e.next:]
	if len(p) == 0 || e.err != nil {
		return false
	}
	h := head(p)
	keyEnd := h.size + h.unshared
	if h.size == 0 || h.shared > len(e.key) || keyEnd > len(p) || h.value > len(p)-keyEnd {
		e.err = e.corrupt("malformed entry at byte %d of the block", e.next)
		return false
	}
	e.key = append(e.key[:h.shared], p[h.size:keyEnd]...)
	e.value = p[keyEnd : keyEnd+h.value]
	e.next += keyEnd + h.value
	return true
}

// restartKey gives the whole key of restart i.
func (e *entries) restartKey(i int) []byte {
	off := int(binary.LittleEndian.Uint32(e.restarts[4*i:]))
	if off < len(e.entries) {
		h := head(e.entries[off:])
		if h.size > 0 && h.shared == 0 && h.unshared <= len(e.entries)-off-h.size {
			return e.entries[off+h.size : off+h.size+h.unshared]
		}
	}
	if e.err == nil {
		e.err = e.corrupt("malformed restart %d", i)
	}
	return nil
}

// seek moves to the first entry for which below is false; false when there is none.
func (e *entries) seek(below func(key []byte) bool) bool {
	lo, hi := 0, len(e.restarts)/4 // all restarts before lo are below
	for lo < hi && e.err == nil {
		mid := int(uint(lo+hi) >> 1)
		if k := e.restartKey(mid); e.err == nil && below(k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	e.next, e.key = 0, e.key[:0]
	if lo > 0 {
		e.next = int(binary.LittleEndian.Uint32(e.restarts[4*(lo-1):]))
	}
	for e.step() {
		if !below(e.key) {
			return true
		}
	}
	return false
}
