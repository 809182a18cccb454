package sst

import (
	"bytes"
	"encoding/binary"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
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
	if end == 4*n { // without entries there is a restart all the same
		return block{name: name, offset: offset}, nil
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
	fresh bool // the user key is another than that of the entry before (after stepInternal)
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

// stepInternal is step for internal keys, of which it gives the trailer. It checks that user keys ascend, from block to block
// too as long as the key is kept; a comparison of one byte mostly does.
func (e *entries) stepInternal() (trailer uint64, ok bool) {
	p := e.entries[e.next:]
	var shared, unshared, value, size int
	switch {
	case len(p) >= 3 && p[0]|p[1]|p[2] < 0x80:
		shared, unshared, value, size = int(p[0]), int(p[1]), int(p[2]), 3
	case len(p) == 0 || e.err != nil:
		return 0, false
	default:
		h := slowHead(p, 3)
		shared, unshared, value, size = h.shared, h.unshared, h.value, h.size
	}
	keyEnd := size + unshared
	if size == 0 || shared > len(e.key) || keyEnd > len(p) || value > len(p)-keyEnd || shared+unshared < ikey.TrailerSize {
		return e.malformed("malformed entry")
	}
	suffix := p[size:keyEnd]
	if unshared > ikey.TrailerSize && shared+ikey.TrailerSize < len(e.key) && suffix[0] > e.key[shared] {
		e.fresh = true
	} else if e.fresh, ok = e.ascends(shared, suffix); !ok {
		return e.malformed("key out of order")
	}
	e.key = append(e.key[:shared], suffix...)
	e.value = p[keyEnd : keyEnd+value]
	e.next += keyEnd + value
	if unshared >= ikey.TrailerSize { // what was just written is slow to read
		return binary.LittleEndian.Uint64(suffix[unshared-ikey.TrailerSize:]), true
	}
	return binary.LittleEndian.Uint64(e.key[len(e.key)-ikey.TrailerSize:]), true
}

// ascends compares the user key that is made of shared bytes and a suffix with the one before.
func (e *entries) ascends(shared int, suffix []byte) (fresh, ok bool) {
	before, after := len(e.key)-ikey.TrailerSize, shared+len(suffix)-ikey.TrailerSize
	if shared >= before { // the whole user key comes again, perhaps with more behind it
		return after > before, after >= before
	}
	c := bytes.Compare(suffix[:max(after-shared, 0)], e.key[shared:before])
	return c > 0, c >= 0
}

func (e *entries) malformed(what string) (trailer uint64, ok bool) {
	if e.err == nil {
		e.err = e.corrupt("%s at byte %d of the block", what, e.next)
	}
	return 0, false
}

// follow goes on with another block, keeping the key for comparison with the block's first.
func (e *entries) follow(b block) { e.block, e.next, e.value = b, 0, nil }

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
