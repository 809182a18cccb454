package state

import (
	"bytes"
	"slices"
	"sync"
)

// A bag collects the members of a map, set or object that come in no order of their own. The caller appends key after
// value to dst; finish sorts them and puts the brackets and commas in between, so that equal bags give equal bytes.
type bag struct {
	start   int // of the members in dst
	keyEnd  int
	members *[]member
	sorted  bool // so far
}

// A member is dst[start:keyEnd] and dst[keyEnd:end].
type member struct{ start, keyEnd, end int }

var memberPool = sync.Pool{New: func() any { return new([]member) }}

func newBag(dst []byte) bag {
	b := bag{start: len(dst), members: memberPool.Get().(*[]member), sorted: true}
	*b.members = (*b.members)[:0]
	return b
}

// key ends the key that was appended to dst.
func (b *bag) key(dst []byte) { b.keyEnd = len(dst) }

// value ends the value that was appended to dst, which may be empty.
func (b *bag) value(dst []byte) []byte {
	m := member{start: b.start, keyEnd: b.keyEnd, end: len(dst)}
	if n := len(*b.members); n > 0 {
		last := (*b.members)[n-1]
		m.start = last.end
		b.sorted = b.sorted && bytes.Compare(dst[last.start:last.keyEnd], dst[m.start:m.keyEnd]) < 0
	}
	*b.members = append(*b.members, m)
	return dst
}

// A shape says how members are written.
type shape struct {
	open, close byte
	pair        string // around each key and value
	between     byte   // key and value; 0: nothing, the value is empty or holds it
	closePair   string
	unique      bool // of members with equal keys the last one stands
}

var (
	objectShape = shape{open: '{', close: '}', between: ':', unique: true}
	pairsShape  = shape{open: '[', close: ']', pair: "[", between: ',', closePair: "]"}
	setShape    = shape{open: '[', close: ']'}
)

// finish replaces the collected bytes by the members in order.
func (b *bag) finish(dst []byte, s shape) []byte {
	defer b.release()
	if len(*b.members) == 0 {
		return append(dst, s.open, s.close)
	}
	if !b.sorted {
		slices.SortStableFunc(*b.members, func(x, y member) int {
			return bytes.Compare(dst[x.start:x.keyEnd], dst[y.start:y.keyEnd])
		})
	}
	end := len(dst)
	dst = append(dst, s.open)
	for i, m := range *b.members {
		if s.unique && b.repeated(dst, i) {
			continue
		}
		dst = appendMember(dst, m, s)
	}
	dst[len(dst)-1] = s.close // in place of the last comma
	n := copy(dst[b.start:], dst[end:])
	return dst[:b.start+n]
}

// maxPooled bounds what the pool keeps after a large bag.
const maxPooled = 1 << 16

func (b *bag) release() {
	if cap(*b.members) <= maxPooled {
		memberPool.Put(b.members)
	}
}

// repeated says whether the next member has the key of member i.
func (b *bag) repeated(dst []byte, i int) bool {
	if i+1 == len(*b.members) {
		return false
	}
	m, next := (*b.members)[i], (*b.members)[i+1]
	return bytes.Equal(dst[m.start:m.keyEnd], dst[next.start:next.keyEnd])
}

func appendMember(dst []byte, m member, s shape) []byte {
	dst = append(dst, s.pair...)
	dst = append(dst, dst[m.start:m.keyEnd]...)
	if s.between != 0 {
		dst = append(dst, s.between)
		dst = append(dst, dst[m.keyEnd:m.end]...)
	}
	dst = append(dst, s.closePair...)
	return append(dst, ',')
}
