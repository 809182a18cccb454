package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/state"
)

// Method is a way to compare two tables.
type Method uint8

// The methods.
const (
	Auto   Method = iota // whichever reads less
	Merge                // walk all rows of both
	ByFile               // walk the files that one of the two has, look up the rest
	Rekey                // sort both anew, as their key groups are not the same
)

func (m Method) String() string {
	switch m {
	case Auto:
		return "auto"
	case Merge:
		return "merge"
	case ByFile:
		return "lsm"
	case Rekey:
		return "rekey"
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// Stretch is a range of key groups in which two tables are compared in one way.
type Stretch struct {
	Groups KeyGroups
	Method Method // Merge or ByFile
	Why    string

	// What the plan knew; zero where the two sides are not both databases.
	Common, OnlyBase, OnlyNext Extent
	ByMerge, ByFile            Estimate
	Latency                    time.Duration // of a request, so many of which may be under way; 0 where files are near
	AtOnce                     int
	sides                      sides
}

// Estimate is what a method is thought to take.
type Estimate struct {
	Bytes, Requests int64
	Time            time.Duration // of reading, and of what goes with it
}

// Extent is a number of files, and their bytes as far as they lie in a stretch.
type Extent struct {
	Files int
	Bytes int64
}

func (e Extent) String() string { return fmt.Sprintf("%d files (%d bytes)", e.Files, e.Bytes) }

// sides are what the two sides hold of a stretch; nil where one holds nothing.
type sides struct {
	base, next *part
	tables     [2]*Table // they are of
	split      rocksdb.Split
}

// Compare plans how to find what differs between base and t in a range of key groups, without reading anything: stretches in
// the order of the composite keys. Both tables must have the same max parallelism. Merge takes no other method.
func (t *Table) Compare(base *Table, groups KeyGroups, m Method) []Stretch {
	if !t.Keyed() || !base.Keyed() {
		return []Stretch{{Groups: groups, Method: Merge, Why: "no key groups"}}
	}
	var out []Stretch
	starts := borders(groups, base.parts, t.parts)
	for i, first := range starts[:len(starts)-1] {
		s := Stretch{Groups: KeyGroups{first, starts[i+1] - 1}, Method: Merge}
		s.sides = sides{base: base.partOf(first), next: t.partOf(first), tables: [2]*Table{base, t}}
		s.choose(m)
		if n := len(out); n > 0 && out[n-1].joins(&s) {
			out[n-1].Groups.Last = s.Groups.Last
			continue
		}
		out = append(out, s)
	}
	return out
}

// borders cuts groups wherever one of the subtasks begins or ends.
func borders(groups KeyGroups, lists ...[]part) []int {
	cuts := []int{groups.First, groups.Last + 1}
	for _, list := range lists {
		for _, p := range list {
			for _, at := range []int{p.groups.First, p.groups.Last + 1} {
				if at > groups.First && at <= groups.Last {
					cuts = append(cuts, at)
				}
			}
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

func (t *Table) partOf(group int) *part {
	for i := range t.parts {
		if g := t.parts[i].groups; g.First <= group && group <= g.Last {
			return &t.parts[i]
		}
	}
	return nil
}

// joins says whether s, which follows, is merged for the same reason and nothing is known of its files.
func (s *Stretch) joins(next *Stretch) bool {
	return s.Method == Merge && next.Method == Merge && s.Why == next.Why && s.ByMerge.Bytes == 0 && next.ByMerge.Bytes == 0
}

// choose settles the method.
func (s *Stretch) choose(m Method) {
	base, next := s.sides.base, s.sides.next
	if base == nil || next == nil {
		s.Why = "only one side has these key groups"
		return
	}
	before, isBefore := base.source.(*database)
	after, isAfter := next.source.(*database)
	if !isBefore || !isAfter {
		s.Why = "not both are databases"
		return
	}
	s.sides.split = divide(before, after, base.columnFamily(), next.columnFamily())
	s.weigh(before, after)
	switch {
	case !sameMeaning(base.schema, next.schema):
		s.Why = "the serializers differ" // so equal bytes may be other values
	case s.Common.Files == 0:
		s.Why = "no common files"
	case m == Merge:
		s.Why = "as asked for"
	case m == ByFile:
		s.Method, s.Why = ByFile, "as asked for"
	case s.ByFile.Time < s.ByMerge.Time:
		s.Method, s.Why = ByFile, s.better(s.ByFile, s.ByMerge)
	default:
		s.Why = s.better(s.ByMerge, s.ByFile)
	}
}

// better says why one method was chosen.
func (s *Stretch) better(chosen, other Estimate) string {
	if chosen.Bytes <= other.Bytes {
		return "reads less"
	}
	return "waits less"
}

// sameMeaning says whether equal bytes are equal values.
func sameMeaning(a, b *state.Schema) bool {
	return a == b || a.Kind == b.Kind && a.TTL == b.TTL && state.SameValues(a.Value, b.Value)
}

// Differences begins the walk over a ByFile stretch. It goes ahead in the background until it is closed.
func (s *Stretch) Differences(ctx context.Context) *Differences {
	before, after := s.sides.base.source.(*database), s.sides.next.source.(*database)
	lower, upper := s.Groups.bounds(s.sides.next.schema)
	return &Differences{
		Difference: after.db.Difference(ctx, before.db, s.sides.split, lower, upper),
		base:       held{part: s.sides.base}, next: held{part: s.sides.next}, tables: s.sides.tables,
	}
}

// ReadStats says what reading has cost.
type ReadStats = rocksdb.Stats

// Reading says what the databases of a stretch have read so far, for whomever.
func (s *Stretch) Reading() ReadStats {
	var sum ReadStats
	for _, p := range []*part{s.sides.base, s.sides.next} {
		if p == nil {
			continue
		}
		if d, ok := p.source.(*database); ok {
			sum = sum.Plus(d.db.Stats())
		}
	}
	return sum
}

// Differences walks the rows that are not the same bytes in two tables, in the order of their composite keys.
type Differences struct {
	*rocksdb.Difference
	base, next held
	tables     [2]*Table
	large      error // a row is too large
	ofBase     bool  // it is
}

// held is one side's entry of the present key.
type held struct {
	part       *part
	key, value []byte
}

func (h *held) Key() []byte           { return h.key }
func (h *held) Value() []byte         { return h.value }
func (h *held) Schema() *state.Schema { return h.part.schema }

// Next moves to the next row.
func (d *Differences) Next() bool {
	for d.large == nil && d.Difference.Next() {
		before, after := d.Before(), d.After()
		if before != nil || after != nil {
			return d.fits(before, d.tables[0], true) && d.fits(after, d.tables[1], false)
		}
	}
	return false
}

// fits keeps the fault of a row that is too large.
func (d *Differences) fits(row Entry, of *Table, ofBase bool) bool {
	if row == nil {
		return true
	}
	d.large, d.ofBase = of.fits(len(row.Key())+len(row.Value())), ofBase
	return d.large == nil
}

// Err gives the fault that ended the walk, or nil at its natural end.
func (d *Differences) Err() error {
	if d.large != nil {
		return d.large
	}
	return d.Difference.Err()
}

// BaseFailed tells whether the fault is one of base alone.
func (d *Differences) BaseFailed() bool {
	if d.large != nil {
		return d.ofBase
	}
	return d.Difference.BaseFailed()
}

// Before gives the row in base, nil if it is not there.
func (d *Differences) Before() Entry { return d.base.entry(d.Key(), d.Base) }

// After gives the row in the next table, nil if it is not there.
func (d *Differences) After() Entry { return d.next.entry(d.Key(), d.Changed) }

func (h *held) entry(key []byte, get func() ([]byte, bool)) Entry {
	value, found := get()
	if !found || h.part.blank(value) {
		return nil
	}
	h.key, h.value = key, value
	return h
}
