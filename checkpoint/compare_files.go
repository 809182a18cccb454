package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/rocksdb"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// identity tells whether two databases mean the same file and would read the same from it. The names that they give it differ
// after a restore. The bounds cut its range tombstones, and the sequence numbers may be those of all its entries.
type identity struct {
	place                   string
	size                    int64
	smallest, largest       string
	smallestSeq, largestSeq uint64
}

// known are the files of a family that have an identity, by it; nil where two have the same. They are worked out once.
func (d *database) known(family string) map[identity]*rocksdb.FileMeta {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.byID[family]; known != nil {
		return known
	}
	known := map[identity]*rocksdb.FileMeta{}
	f, _ := d.db.Family(family)
	for i := range f.Files {
		id, ok := d.identity(&f.Files[i])
		if !ok {
			continue
		}
		if _, twice := known[id]; twice {
			known[id] = nil
			continue
		}
		known[id] = &f.Files[i]
	}
	if d.byID == nil {
		d.byID = map[string]map[identity]*rocksdb.FileMeta{}
	}
	d.byID[family] = known
	return known
}

func (d *database) identity(f *rocksdb.FileMeta) (identity, bool) {
	place := d.files.place(f.Name(), d.dir)
	return identity{place, f.Size, string(f.Smallest), string(f.Largest), f.SmallestSeq, f.LargestSeq}, place != ""
}

// place says where a file is: writers never give one address to two contents. Inlined bytes stand for themselves.
func (files files) place(name, dir string) string {
	h := files[name]
	if h == nil {
		return ""
	}
	switch h.Kind {
	case flink.Bytes:
		sum := sha256.Sum256(h.Inline)
		return "bytes " + hex.EncodeToString(sum[:])
	case flink.AbsoluteFile:
		return plain(h.Path)
	case flink.RelativeFile:
		return plain(storage.Join(dir, h.Path))
	case flink.Segment:
		return fmt.Sprintf("%s[%d+%d]", plain(h.Path), h.Offset, h.Size)
	}
	return ""
}

// plain makes one of the ways to write a local address.
func plain(uri string) string {
	if path, err := storage.LocalPath(uri); err == nil {
		return path
	}
	return uri
}

// divide sorts the files of a family by who has them. A file that one side names twice is common in no case.
func divide(base, next *database, baseFamily, nextFamily string) (s rocksdb.Split) {
	before, after := base.known(baseFamily), next.known(nextFamily)
	inBase, inNext := map[*rocksdb.FileMeta]bool{}, map[*rocksdb.FileMeta]bool{}
	for id, b := range before {
		if a := after[id]; a != nil && b != nil {
			inBase[b], inNext[a] = true, true
		}
	}
	f, _ := base.db.Family(baseFamily)
	for i, m := range f.Files {
		if !inBase[&f.Files[i]] {
			s.OnlyBase = append(s.OnlyBase, m)
		}
	}
	f, _ = next.db.Family(nextFamily)
	for i, m := range f.Files {
		if inNext[&f.Files[i]] {
			s.Common = append(s.Common, m)
		} else {
			s.OnlyNext = append(s.OnlyNext, m)
		}
	}
	return s
}

const (
	// seekBytes is what one look-up in common files counts as. It reads a block, of which the time goes into reading it, not into its rows.
	seekBytes = 2 << 10
	// entryBytes is about the least that an entry takes in a file.
	entryBytes = 8
	// rangeBytes is what one request of a scan brings.
	rangeBytes = 1 << 20
)

// weigh estimates what each method takes. A merge reads the common files twice. The other way reads the files of one side, and
// looks up what was written between the two snapshots: no more entries than sequence numbers were given out. Each look-up is a request, or the
// common files are read through once to save these.
func (s *Stretch) weigh(base, next *database) {
	files := &s.sides.split
	width := s.sides.next.schema.PrefixLen()
	s.Common, s.OnlyBase, s.OnlyNext = s.extent(files.Common, width), s.extent(files.OnlyBase, width), s.extent(files.OnlyNext, width)
	own := s.OnlyBase.Bytes + s.OnlyNext.Bytes
	written := int64(max(next.db.LastSequence(), base.db.LastSequence()) - min(next.db.LastSequence(), base.db.LastSequence()))
	written = min(part64(written, s.Groups.Len(), s.sides.next.groups.Len()), own/entryBytes)
	link := next.db.Link()
	cost := link.Cost()
	if link.Far() {
		s.Latency, s.AtOnce = cost.Latency, cost.Lanes
	}
	estimate := func(bytes, requests int64) Estimate { return Estimate{bytes, requests, cost.Time(bytes, requests)} }
	ownRequests := int64(s.OnlyBase.Files+s.OnlyNext.Files) + own/rangeBytes
	s.ByMerge = estimate(own+2*s.Common.Bytes, ownRequests+2*(int64(s.Common.Files)+s.Common.Bytes/rangeBytes))
	s.ByFile = estimate(own+seekBytes*written, ownRequests+written)
	if whole := estimate(own+seekBytes*written+s.Common.Bytes, ownRequests+s.Common.Bytes/rangeBytes); whole.Time < s.ByFile.Time {
		s.ByFile = whole
	}
}

// extent counts the files that reach into the stretch. Their bytes are taken to be spread evenly over their key groups.
func (s *Stretch) extent(files []rocksdb.FileMeta, width int) (e Extent) {
	for _, f := range files {
		high, _ := f.LargestUser()
		has := KeyGroups{group(f.SmallestUser(), width), group(high, width)}
		if in := has.Clip(s.Groups); in.Len() > 0 {
			e.Files++
			e.Bytes += part64(f.Size, in.Len(), has.Len())
		}
	}
	return e
}

// group reads the key group that a key begins with; a key cut short is the least of its kind.
func group(key []byte, width int) (g int) {
	full := append(bytes.Clone(key[:min(len(key), width)]), 0, 0)
	for _, b := range full[:width] {
		g = g<<8 | int(b)
	}
	return g
}

// part64 is n·of/whole without overflow.
func part64(n int64, of, whole int) int64 {
	return int64(float64(n) * float64(of) / float64(max(whole, 1)))
}
