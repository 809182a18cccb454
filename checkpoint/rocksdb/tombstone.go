package rocksdb

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// Tombstone deletes the user keys in [Start, End) that are older than Seq.
type Tombstone = sst.Tombstone

// cut shortens tombstones to their file's bounds. Beyond them they must not act: there, compaction may have dropped the
// tombstone and set the numbers of newer entries back to zero.
func cut(list []Tombstone, m FileMeta) []Tombstone {
	low := m.SmallestUser()
	high, exclusive := m.LargestUser()
	if !exclusive {
		high = append(slices.Clone(high), 0) // the next key there is
	}
	var out []Tombstone
	for _, t := range list {
		if bytes.Compare(t.Start, low) < 0 {
			t.Start = low
		}
		if bytes.Compare(t.End, high) > 0 {
			t.End = high
		}
		if bytes.Compare(t.Start, t.End) < 0 {
			out = append(out, t)
		}
	}
	return out
}

// cover answers, for keys asked in ascending order, which tombstone is the newest above a key.
type cover struct {
	spans []Tombstone // disjoint, ascending
}

// add takes more tombstones in. Those that end before a key already asked for may be among them.
func (c *cover) add(list []Tombstone) {
	if len(list) > 0 {
		c.spans = fragment(append(slices.Clone(c.spans), list...))
	}
}

// seq gives the newest tombstone's sequence number, 0 for none.
func (c *cover) seq(user []byte) uint64 {
	for len(c.spans) > 0 && bytes.Compare(c.spans[0].End, user) <= 0 {
		c.spans = c.spans[1:]
	}
	if len(c.spans) > 0 && bytes.Compare(c.spans[0].Start, user) <= 0 {
		return c.spans[0].Seq
	}
	return 0
}

// above gives the sequence number of the tombstone above a key, 0 for none; spans are disjoint and ascending.
func above(spans []Tombstone, key []byte) uint64 {
	i, _ := slices.BinarySearchFunc(spans, key, func(t Tombstone, key []byte) int {
		if bytes.Compare(t.End, key) <= 0 {
			return -1
		}
		return 1
	})
	if i < len(spans) && bytes.Compare(spans[i].Start, key) <= 0 {
		return spans[i].Seq
	}
	return 0
}

// fragment makes disjoint tombstones of overlapping ones; the newest counts.
func fragment(list []Tombstone) []Tombstone {
	slices.SortFunc(list, func(a, b Tombstone) int { return bytes.Compare(a.Start, b.Start) })
	points := make([][]byte, 0, 2*len(list))
	for _, t := range list {
		points = append(points, t.Start, t.End)
	}
	slices.SortFunc(points, bytes.Compare)
	points = slices.CompactFunc(points, bytes.Equal)
	var out []Tombstone
	var active newest
	for i := 0; i+1 < len(points); i++ {
		for len(list) > 0 && bytes.Equal(list[0].Start, points[i]) {
			heap.Push(&active, list[0])
			list = list[1:]
		}
		for len(active) > 0 && bytes.Compare(active[0].End, points[i]) <= 0 {
			heap.Pop(&active)
		}
		if len(active) > 0 {
			out = append(out, Tombstone{Start: points[i], End: points[i+1], Seq: active[0].Seq})
		}
	}
	return out
}

// newest is a heap of tombstones, the newest on top.
type newest []Tombstone

func (n newest) Len() int           { return len(n) }
func (n newest) Less(i, j int) bool { return cmp.Less(n[j].Seq, n[i].Seq) }
func (n newest) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *newest) Push(t any)        { *n = append(*n, t.(Tombstone)) }
func (n *newest) Pop() any {
	last := len(*n) - 1
	t := (*n)[last]
	*n = (*n)[:last]
	return t
}
