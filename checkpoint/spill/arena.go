package spill

import (
	"bytes"
	"cmp"
)

const (
	minSlab = 4 << 10
	maxSlab = 1 << 20
	// pairSize is what a pair costs beyond its bytes: its place, twice while the list of all grows.
	pairSize = 2 * 16
)

// arena holds pairs in slabs, which never move as it grows.
type arena struct {
	memory *Memory
	held   int // taken from memory
	slabs  [][]byte
	at     int // the slab that is being filled
	pairs  []pair
}

type pair struct {
	slab, start uint32 // of the key
	key, val    uint32 // lengths
}

func (a *arena) key(p pair) []byte { return a.slabs[p.slab][p.start : p.start+p.key] }

func (a *arena) value(p pair) []byte {
	return a.slabs[p.slab][p.start+p.key : p.start+p.key+p.val]
}

// add copies a pair; false when there is no memory for it, which cannot be when the arena is empty.
func (a *arena) add(key, value []byte) bool {
	n := len(key) + len(value)
	if !a.room(n) || !a.pairRoom() {
		return false
	}
	slab := a.slabs[a.at]
	a.pairs = append(a.pairs, pair{uint32(a.at), uint32(len(slab)), uint32(len(key)), uint32(len(value))})
	a.slabs[a.at] = append(append(slab, key...), value...)
	return true
}

// room finds a slab with space for n bytes.
func (a *arena) room(n int) bool {
	for ; a.at < len(a.slabs); a.at++ {
		if slab := a.slabs[a.at]; cap(slab)-len(slab) >= n {
			return true
		}
	}
	size := minSlab
	if last := len(a.slabs) - 1; last >= 0 {
		size = min(2*cap(a.slabs[last]), maxSlab)
	}
	if size = max(size, n); !a.take(size) {
		a.at = max(len(a.slabs)-1, 0)
		return false
	}
	a.slabs = append(a.slabs, make([]byte, 0, size))
	return true
}

// pairRoom makes space for one more pair.
func (a *arena) pairRoom() bool {
	if len(a.pairs) < cap(a.pairs) {
		return true
	}
	more := max(cap(a.pairs)/2, 8)
	if !a.take(more * pairSize) {
		return false
	}
	grown := make([]pair, len(a.pairs), cap(a.pairs)+more)
	copy(grown, a.pairs)
	a.pairs = grown
	return true
}

func (a *arena) take(n int) bool {
	if !a.memory.take(a.held, n) {
		if len(a.pairs) > 0 {
			return false
		}
		a.memory.force(n)
	}
	a.held += n
	return true
}

// compare orders pairs by key, equal ones by arrival.
func (a *arena) compare(p, q pair) int {
	if c := bytes.Compare(a.key(p), a.key(q)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(p.slab, q.slab), cmp.Compare(p.start, q.start), cmp.Compare(p.val, q.val)) // a pair without bytes came before the next
}

// empty forgets the pairs and keeps the slabs, but for one that a huge pair needed.
func (a *arena) empty() {
	kept := a.slabs[:0]
	for _, slab := range a.slabs {
		if cap(slab) > maxSlab {
			a.memory.give(cap(slab))
			a.held -= cap(slab)
			continue
		}
		kept = append(kept, slab[:0])
	}
	clear(a.slabs[len(kept):])
	a.slabs, a.at, a.pairs = kept, 0, a.pairs[:0]
}

// free gives everything back.
func (a *arena) free() {
	if a.held > 0 {
		a.memory.give(a.held)
	}
	*a = arena{memory: a.memory}
}
