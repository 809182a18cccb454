package rocksdb

import (
	"bytes"
	"context"
	"slices"
)

// covered walks the keys that tables have in given spans.
type covered struct {
	ctx    context.Context
	db     *DB
	files  []FileMeta
	spans  []Tombstone // still to be walked
	cursor *InternalCursor
	err    error
}

// step moves to the next entry.
func (c *covered) step() {
	for c.err == nil {
		if c.cursor != nil {
			if c.cursor.Next() {
				return
			}
			c.err = c.cursor.Err()
			c.cursor.Close()
			c.cursor = nil
			continue
		}
		if len(c.spans) == 0 {
			return
		}
		c.cursor, c.err = c.db.InternalCursor(c.ctx, c.files, c.spans[0].Start, c.spans[0].End)
		c.spans = c.spans[1:]
	}
}

// head gives the key of the present entry, nil at the end.
func (c *covered) head() []byte {
	if c.cursor == nil {
		return nil
	}
	return nonNil(c.cursor.Key())
}

// pass moves beyond a key, and tells whether it was there.
func (c *covered) pass(key []byte) (there bool) {
	for c.cursor != nil && bytes.Equal(c.cursor.Key(), key) {
		there = true
		c.step()
	}
	return there
}

func (c *covered) close() error {
	if c.cursor == nil {
		return nil
	}
	return c.cursor.Close()
}

// differing gives the spans over which the newest tombstone of a is another than that of b. Both are disjoint and ascending, and so is what comes.
func differing(a, b []Tombstone) []Tombstone {
	var points [][]byte
	for _, list := range [][]Tombstone{a, b} {
		for _, t := range list {
			points = append(points, t.Start, t.End)
		}
	}
	slices.SortFunc(points, bytes.Compare)
	points = slices.CompactFunc(points, bytes.Equal)
	x, y := cover{spans: a}, cover{spans: b}
	var out []Tombstone
	for i := 0; i+1 < len(points); i++ {
		if x.seq(points[i]) == y.seq(points[i]) {
			continue
		}
		if n := len(out); n > 0 && bytes.Equal(out[n-1].End, points[i]) {
			out[n-1].End = points[i+1]
			continue
		}
		out = append(out, Tombstone{Start: points[i], End: points[i+1]})
	}
	return out
}

// clip gives the parts of spans in [lower, upper); nil leaves a side open.
func clip(spans []Tombstone, lower, upper []byte) []Tombstone {
	var out []Tombstone
	for _, s := range spans {
		if bytes.Compare(s.Start, lower) < 0 {
			s.Start = lower
		}
		if upper != nil && bytes.Compare(s.End, upper) > 0 {
			s.End = upper
		}
		if bytes.Compare(s.Start, s.End) < 0 {
			out = append(out, s)
		}
	}
	return out
}
