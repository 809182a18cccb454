package spill

import (
	"bytes"
	"container/heap"
	"errors"
	"os"
)

// source gives pairs in key order; its bytes are valid until the next next.
type source interface {
	next() bool
	pairNow() (key, value []byte)
	err() error
}

// Cursor walks sorted pairs. Key and Value are valid until the next Next.
type Cursor struct {
	sources []source // a heap once started, by key, then by age
	ages    []int
	started bool
	fault   error
	files   []*os.File
	done    func()
}

// runBuffers is what the buffers of a cursor's runs take together.
const runBuffers = 2 << 20

func openRuns(files []*os.File) (*Cursor, error) {
	c := &Cursor{files: files}
	buffer := min(runBuffers/len(files), 256<<10)
	for _, f := range files {
		r, err := newRunSource(f, buffer)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.sources = append(c.sources, r)
	}
	return c, nil
}

// Next moves to the next pair; false at the end and after a fault.
func (c *Cursor) Next() bool {
	if c.fault != nil {
		return false
	}
	if !c.started {
		c.start()
		return c.fault == nil && len(c.sources) > 0
	}
	if len(c.sources) == 0 {
		return false
	}
	if c.sources[0].next() {
		heap.Fix((*byKey)(c), 0)
		return true
	}
	if c.fault = c.sources[0].err(); c.fault != nil {
		return false
	}
	heap.Pop((*byKey)(c))
	return len(c.sources) > 0
}

func (c *Cursor) start() {
	c.started = true
	live := c.sources[:0]
	for i, s := range c.sources {
		if s.next() {
			live, c.ages = append(live, s), append(c.ages, i)
		} else if err := s.err(); err != nil {
			c.fault = err
		}
	}
	c.sources = live
	heap.Init((*byKey)(c))
}

// Key of the present pair.
func (c *Cursor) Key() []byte { k, _ := c.sources[0].pairNow(); return k }

// Value of the present pair.
func (c *Cursor) Value() []byte { _, v := c.sources[0].pairNow(); return v }

// Err says why Next ended early, or nil.
func (c *Cursor) Err() error { return c.fault }

// Close gives the run files back.
func (c *Cursor) Close() error {
	if c.done != nil {
		c.done()
		c.done = nil
	}
	err := closeAll(c.files)
	c.files = nil
	return err
}

// byKey is the heap order of a Cursor's sources.
type byKey Cursor

func (h *byKey) Len() int { return len(h.sources) }

func (h *byKey) Less(i, j int) bool {
	a, _ := h.sources[i].pairNow()
	b, _ := h.sources[j].pairNow()
	if c := bytes.Compare(a, b); c != 0 {
		return c < 0
	}
	return h.ages[i] < h.ages[j]
}

func (h *byKey) Swap(i, j int) {
	h.sources[i], h.sources[j] = h.sources[j], h.sources[i]
	h.ages[i], h.ages[j] = h.ages[j], h.ages[i]
}

func (h *byKey) Push(any) { panic("spill: sources are never added") }

func (h *byKey) Pop() any {
	n := len(h.sources) - 1
	last := h.sources[n]
	h.sources, h.ages = h.sources[:n], h.ages[:n]
	return last
}

// memorySource walks what never left memory.
type memorySource struct {
	arena *arena
	at    int // one past the present pair
}

func (m *memorySource) next() bool {
	if m.at >= len(m.arena.pairs) {
		return false
	}
	m.at++
	return true
}

func (m *memorySource) pairNow() (key, value []byte) {
	p := m.arena.pairs[m.at-1]
	return m.arena.key(p), m.arena.value(p)
}

func (m *memorySource) err() error { return nil }
