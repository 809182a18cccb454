package flink

import "fmt"

// KeyGroupRange is First to Last, both included; of none Last is below First.
type KeyGroupRange struct{ First, Last int }

// Len is the number of key groups.
func (g KeyGroupRange) Len() int { return g.Last - g.First + 1 }

// Contains says whether key group k is one of them.
func (g KeyGroupRange) Contains(k int) bool { return k >= g.First && k <= g.Last }

func (g KeyGroupRange) String() string { return fmt.Sprintf("%d..%d", g.First, g.Last) }

// KeyedHandle points to the keyed state of one subtask: a *KeyGroupsHandle, *IncrementalHandle, *ChangelogHandle,
// *ChangelogBytesHandle or *ChangelogFilesHandle.
type KeyedHandle interface {
	KeyGroupRange() KeyGroupRange
	// walk shows each stream handle below, and stops once yield does.
	walk(yield func(role Role, name string, h *StreamHandle) bool) bool
}

// KeyGroupsHandle is a stream with the entries of one key group after the other.
type KeyGroupsHandle struct {
	Range     KeyGroupRange
	Offsets   []int64 // of each key group of Range
	Stream    *StreamHandle
	Canonical bool   // entries are RocksDB's in every backend; else the heap backend's own, or raw keyed state
	Old       bool   // written before handles said whether they are canonical: the stream itself has to show it
	ID        string // may be ""
}

// IncrementalHandle lists the files of a RocksDB or ForSt database.
type IncrementalHandle struct {
	CheckpointID     int64
	Backend          string // UUID of the database
	Range            KeyGroupRange
	CheckpointedSize int64 // -1 if unknown
	Meta             *StreamHandle
	Shared, Private  []NamedHandle
	ID               string // may be ""
}

// NamedHandle is a file of a database: Name is what the database calls it.
type NamedHandle struct {
	Name   string
	Stream *StreamHandle
}

// KeyGroupRange gives the key groups of the subtask.
func (h *KeyGroupsHandle) KeyGroupRange() KeyGroupRange { return h.Range }

// KeyGroupRange gives the key groups of the subtask; the files may hold others.
func (h *IncrementalHandle) KeyGroupRange() KeyGroupRange { return h.Range }

// maxHandleDepth bounds changelog handles inside one another; real ones hold no further.
const maxHandleDepth = 4

func (r *metadataReader) keyed(depth int) KeyedHandle {
	if depth > maxHandleDepth {
		r.Fail("keyed state handles nested more than %d deep", maxHandleDepth)
		return nil
	}
	switch tag := r.Uint8(); tag {
	case tagNull:
		return nil
	case tagKeyGroups, tagSavepointKeyGroups, tagKeyGroupsV2:
		return r.keyGroups(tag)
	case tagIncremental, tagIncrementalV2:
		return r.incremental(tag)
	case tagChangelog, tagChangelogV2:
		return r.changelog(tag, depth)
	case tagChangelogBytes:
		return r.changelogBytes()
	case tagChangelogFiles, tagChangelogFilesV2:
		return r.changelogFiles(tag)
	default:
		r.badTag(tag, "a keyed state handle")
		return nil
	}
}

func (r *metadataReader) keyGroupRange() KeyGroupRange {
	first, n := int(r.Int32()), int(r.Int32())
	if r.Err() == nil && (first < 0 || n < 0 || first+n > maxKeyGroups) {
		r.Fail("%d key groups from %d", n, first)
		return KeyGroupRange{0, -1}
	}
	return KeyGroupRange{first, first + n - 1}
}

func (r *metadataReader) keyGroups(tag uint8) *KeyGroupsHandle {
	h := &KeyGroupsHandle{Range: r.keyGroupRange(), Canonical: tag == tagSavepointKeyGroups, Old: tag == tagKeyGroups}
	if n := h.Range.Len(); 8*n > r.Len() {
		r.Take(8 * n) // says what is missing
	} else {
		h.Offsets = r.offsets(n)
	}
	h.Stream = r.someStream("key groups")
	if tag == tagKeyGroupsV2 {
		h.ID = r.UTF()
	}
	return h
}

func (r *metadataReader) incremental(tag uint8) *IncrementalHandle {
	h := &IncrementalHandle{CheckpointID: r.Int64(), Backend: r.UTF(), Range: r.keyGroupRange(), CheckpointedSize: -1}
	if tag == tagIncrementalV2 {
		h.CheckpointedSize = r.Int64()
	}
	h.Meta = r.someStream("meta of incremental state")
	h.Shared = list(r, minNamedHandle, r.namedHandle)
	h.Private = list(r, minNamedHandle, r.namedHandle)
	if tag == tagIncrementalV2 {
		h.ID = r.UTF()
	}
	return h
}

func (r *metadataReader) namedHandle() NamedHandle {
	name := r.UTF()
	return NamedHandle{Name: name, Stream: r.someStream("file " + name)}
}
