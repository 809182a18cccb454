package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/fault"
)

// Comparator is the only order of keys that is read here.
const Comparator = "leveldb.BytewiseComparator"

// Family is a column family with its live files: level ascending, in level 0 the newest first, else by smallest key.
type Family struct {
	ID    uint32
	Name  string
	Files []File
}

// Version is what a MANIFEST adds up to.
type Version struct {
	Families     []Family // by ID
	LastSequence uint64
}

// Read replays a whole MANIFEST; file is its name for messages.
func Read(file string, buf []byte) (*Version, error) {
	s := &replay{file: file, families: map[uint32]*family{0: newFamily("default")}}
	log := &logReader{file: file, buf: buf}
	for {
		record, ok, err := log.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return s.version()
		}
		e, err := decodeEdit(file, int64(log.start), record)
		if err != nil {
			return nil, err
		}
		if err := s.apply(e, int64(log.start)); err != nil {
			return nil, err
		}
	}
}

type family struct {
	name  string
	files map[fileID]File
}

func newFamily(name string) *family { return &family{name: name, files: map[fileID]File{}} }

type replay struct {
	file        string
	families    map[uint32]*family
	lastSeq     uint64
	edits       int
	atomicLeft  int
	atomicStart int64
}

func (s *replay) apply(e *edit, off int64) error {
	s.edits++
	if e.comparator != nil && *e.comparator != Comparator {
		return fault.Unsupported(s.file, off, "comparator %q unsupported, only %q is", *e.comparator, Comparator)
	}
	if err := s.atomic(e, off); err != nil {
		return err
	}
	s.lastSeq = max(s.lastSeq, e.lastSeq)
	switch {
	case e.add != nil:
		if _, ok := s.families[e.family]; ok && e.family != 0 {
			return fault.Corrupt(s.file, off, "column family %d added twice", e.family)
		}
		s.families[e.family] = newFamily(*e.add)
	case e.drop:
		delete(s.families, e.family)
		return nil
	}
	f := s.families[e.family]
	if f == nil {
		if len(e.added)+len(e.deleted) > 0 {
			return fault.Corrupt(s.file, off, "files of unknown column family %d", e.family)
		}
		return nil
	}
	return s.files(f, e, off)
}

// files applies deletions before additions, as a moved file is both.
func (s *replay) files(f *family, e *edit, off int64) error {
	for _, id := range e.deleted {
		if _, ok := f.files[id]; !ok {
			return fault.Corrupt(s.file, off, "column family %q loses file %d of level %d, which it does not have", f.name, id.number, id.level)
		}
		delete(f.files, id)
	}
	for _, a := range e.added {
		id := fileID{a.Level, a.Number}
		if _, ok := f.files[id]; ok {
			return fault.Corrupt(s.file, off, "column family %q gets file %d of level %d twice", f.name, a.Number, a.Level)
		}
		a.Smallest, a.Largest = slices.Clone(a.Smallest), slices.Clone(a.Largest)
		f.files[id] = a
	}
	return nil
}

// atomic checks that groups of edits that count together are whole.
func (s *replay) atomic(e *edit, off int64) error {
	if s.atomicLeft > 0 && e.atomicLeft != s.atomicLeft-1 {
		return fault.Corrupt(s.file, off, "atomic group of edits broken off, %d missing", s.atomicLeft)
	}
	if s.atomicLeft == 0 {
		s.atomicStart = off
	}
	s.atomicLeft = max(e.atomicLeft, 0)
	return nil
}

func (s *replay) version() (*Version, error) {
	if s.edits == 0 {
		return nil, &fault.CorruptError{File: s.file, Reason: "MANIFEST without a record", Truncated: true}
	}
	if s.atomicLeft > 0 {
		return nil, &fault.CorruptError{File: s.file, Offset: s.atomicStart, Truncated: true,
			Reason: fmt.Sprintf("atomic group of edits without its last %d", s.atomicLeft)}
	}
	v := &Version{LastSequence: s.lastSeq}
	for id, f := range s.families {
		v.Families = append(v.Families, Family{ID: id, Name: f.name, Files: sorted(f.files)})
	}
	slices.SortFunc(v.Families, func(a, b Family) int { return cmp.Compare(a.ID, b.ID) })
	return v, nil
}

func sorted(files map[fileID]File) []File {
	list := make([]File, 0, len(files))
	for _, f := range files {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b File) int {
		if a.Level != b.Level || a.Level == 0 {
			return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(b.LargestSeq, a.LargestSeq), cmp.Compare(b.Number, a.Number))
		}
		return cmp.Or(ikey.Compare(a.Smallest, b.Smallest), cmp.Compare(a.Number, b.Number))
	})
	return list
}
