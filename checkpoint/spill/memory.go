package spill

import "sync/atomic"

// DefaultMemory is the memory in bytes of a Sorter that is not given any.
const DefaultMemory = 64 << 20

// Memory is what Sorters share, so that all together hold no more than its limit before they spill, however many there are. Only what a Sorter
// cannot do without, the pair at hand and a few KiB, is given beyond the limit. Its methods may be called from several goroutines.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// NewMemory makes a Memory of so many bytes.
func NewMemory(limit int) *Memory { return &Memory{limit: int64(limit)} }

// Limit is the number of bytes.
func (m *Memory) Limit() int { return int(m.limit) }

// take says whether n more bytes could be had by a Sorter that has held ones. A quarter is the most for one, so that others find something left.
func (m *Memory) take(held, n int) bool {
	if int64(held+n) > m.limit/4 {
		return false
	}
	if m.used.Add(int64(n)) > m.limit {
		m.used.Add(int64(-n))
		return false
	}
	return true
}

// force takes n bytes, whatever the limit is.
func (m *Memory) force(n int) { m.used.Add(int64(n)) }

func (m *Memory) give(n int) { m.used.Add(int64(-n)) }
