package rocksdb

import (
	"bytes"
	"context"

	"github.com/statebridge/statebridge/fault"
)

// merger brings runs together in internal-key order. Its heap's root is the present entry.
type merger struct {
	db           *DB
	ctx          context.Context
	cancel       context.CancelFunc // of what is under way
	lower, upper []byte
	ahead        int
	cover        *cover // nil: nobody asks
	heap         []*run
	root         *run // heap[0] once begun; nil at the end or after a fault
	child        int  // index of the better child of the root; 0: not known
	started      bool
	same         bool   // the user key is that of the entry before
	before       []byte // its user key, where it was kept for comparison
	err          error
}

// The runs of one scan share this much memory for reading ahead; each still gets minReadAhead.
const (
	totalReadAhead = 1 << 20 // four times as much was no faster, and a tenth of the memory of an export
	minReadAhead   = 16 << 10
)

func (db *DB) merger(ctx context.Context, files []FileMeta, lower, upper []byte, c *cover) *merger {
	m := &merger{db: db, lower: bytes.Clone(lower), upper: bytes.Clone(upper), cover: c}
	m.ctx, m.cancel = context.WithCancel(ctx)
	for _, list := range runs(files, lower, upper) {
		m.heap = append(m.heap, &run{m: m, files: list})
	}
	n := len(m.heap)
	switch {
	case n == 0 || db.ahead <= 0:
	case db.link.Far():
		m.ahead = int(max(db.link.Memory()/int64(2*n), minReadAhead))
	default:
		m.ahead = min(db.ahead, max(totalReadAhead/n, minReadAhead))
	}
	return m
}

// from gives the key at which the walk of a table begins; nil is its first one.
func (m *merger) from(f FileMeta) []byte {
	if m.lower != nil && bytes.Compare(f.SmallestUser(), m.lower) < 0 {
		return m.lower
	}
	return nil
}

func (m *merger) fail(err error) bool {
	if m.err == nil {
		m.err = err
	}
	return false
}

// next moves to the next entry below the upper bound, and sees whether its user key is still that of the entry before.
func (m *merger) next() bool {
	switch r := m.root; {
	case r == nil: // not begun, or at the end
		m.start()
	case len(m.heap) > 1:
		m.nextOfMany(r)
	case r.it.Next():
		m.same = !r.it.Fresh()
	default:
		m.before = append(m.before[:0], r.it.User()...)
		m.nextFile(r)
	}
	if m.root == nil {
		return false
	}
	return m.upper == nil || bytes.Compare(m.root.it.User(), m.upper) < 0
}

// nextOfMany keeps the present key, as another run may come up. To copy it now costs less than when it was just made.
func (m *merger) nextOfMany(r *run) {
	m.before = append(m.before[:0], r.it.User()...)
	if !r.it.Next() {
		m.nextFile(r)
		return
	}
	m.same = !r.it.Fresh()
	if m.sink(r) {
		m.compare()
	}
}

// nextFile moves the root to its next table, or out.
func (m *merger) nextFile(r *run) {
	if !r.nextFile() {
		m.dropRoot()
	} else if len(m.heap) > 1 {
		m.sink(r)
	}
	m.compare()
}

// compare puts the present key beside the one before, which must not be above it.
func (m *merger) compare() {
	if m.root == nil {
		return
	}
	order := bytes.Compare(m.root.it.User(), m.before)
	m.same = order == 0
	if order < 0 {
		m.fail(fault.Corrupt(m.root.ref.table.Name(), m.root.it.Offset(), "key %x stands behind %x", m.root.it.User(), m.before))
		m.root = nil
	}
}

// sink lets the root, which has moved, find its place, and tells whether another came up. Mostly it stays: the better of its
// children is known.
func (m *merger) sink(r *run) bool {
	if m.child == 0 {
		if m.child = 1; len(m.heap) > 2 && m.heap[2].less(m.heap[1]) {
			m.child = 2
		}
	}
	c := m.child
	if !m.heap[c].less(r) {
		return false
	}
	m.heap[0], m.heap[c] = m.heap[c], r
	m.down(c)
	m.root, m.child = m.heap[0], 0
	return true
}

// start moves every run to its first entry.
func (m *merger) start() {
	if m.started {
		return
	}
	m.started = true
	for _, r := range m.heap {
		r.prepare()
	}
	var live []*run
	for _, r := range m.heap {
		if m.err == nil && r.nextFile() {
			live = append(live, r)
		} else {
			r.close()
		}
	}
	m.heap = live
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	m.choose()
}

// choose takes the heap's root, if there is any and nothing has failed.
func (m *merger) choose() {
	m.root, m.child = nil, 0
	if m.err == nil && len(m.heap) > 0 {
		m.root = m.heap[0]
	}
}

func (m *merger) dropRoot() {
	m.heap[0].close()
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap[last] = nil
	m.heap = m.heap[:last]
	m.down(0)
	m.choose()
}

// down lets the run at i sink to where it belongs.
func (m *merger) down(i int) {
	h := m.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (m *merger) close() {
	m.cancel()
	for _, r := range m.heap {
		r.close()
	}
	m.heap, m.root, m.started = nil, nil, true
}
