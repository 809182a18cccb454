package flink

// ChangelogHandle is state of the changelog backend: what was materialized, and every change since, in order.
type ChangelogHandle struct {
	Range             KeyGroupRange
	CheckpointedSize  int64
	Materialized      []KeyedHandle
	Deltas            []KeyedHandle // *ChangelogBytesHandle and *ChangelogFilesHandle
	MaterializationID int64
	CheckpointID      int64 // 0 if not stored
	ID                string
}

// ChangelogBytesHandle holds changes in the _metadata itself.
type ChangelogBytesHandle struct {
	Range    KeyGroupRange
	From, To int64 // sequence numbers
	Changes  []ChangelogEntry
	ID       string
}

// ChangelogEntry is one change of a key group; key group -1 stands for one that describes a state.
type ChangelogEntry struct {
	KeyGroup int
	Data     []byte
}

// ChangelogFilesHandle points to sets of changes in files.
type ChangelogFilesHandle struct {
	Range            KeyGroupRange
	Files            []ChangelogFile
	Size             int64
	CheckpointedSize int64
	ID               string
	Storage          string // "filesystem"
}

// ChangelogFile is one set of changes: Offset counts uncompressed bytes after the flag byte of the file. The size in
// the handle is the uncompressed one, not the file's.
type ChangelogFile struct {
	Offset int64
	Stream *StreamHandle
}

// KeyGroupRange gives the key groups of the subtask.
func (h *ChangelogHandle) KeyGroupRange() KeyGroupRange { return h.Range }

// KeyGroupRange gives the key groups of the subtask.
func (h *ChangelogBytesHandle) KeyGroupRange() KeyGroupRange { return h.Range }

// KeyGroupRange gives the key groups of the subtask.
func (h *ChangelogFilesHandle) KeyGroupRange() KeyGroupRange { return h.Range }

func (r *metadataReader) changelog(tag uint8, depth int) *ChangelogHandle {
	nested := func() KeyedHandle { return r.keyed(depth + 1) }
	h := &ChangelogHandle{Range: r.keyGroupRange(), CheckpointedSize: r.Int64()}
	h.Materialized = some(list(r, minHandle, nested))
	h.Deltas = some(list(r, minHandle, nested))
	h.MaterializationID = r.Int64()
	if tag == tagChangelogV2 {
		h.CheckpointID = r.Int64()
	}
	h.ID = r.UTF()
	for _, d := range h.Deltas {
		switch d.(type) {
		case *ChangelogBytesHandle, *ChangelogFilesHandle:
		default:
			r.Fail("%T among the deltas of a changelog", d)
		}
	}
	return h
}

// some leaves null handles out.
func some(in []KeyedHandle) []KeyedHandle {
	out := in[:0]
	for _, h := range in {
		if h != nil {
			out = append(out, h)
		}
	}
	return out
}

func (r *metadataReader) changelogBytes() *ChangelogBytesHandle {
	h := &ChangelogBytesHandle{Range: r.keyGroupRange(), From: r.Int64(), To: r.Int64()}
	h.Changes = list(r, 8, func() ChangelogEntry {
		return ChangelogEntry{KeyGroup: int(r.Int32()), Data: r.Take(r.Count(1))}
	})
	h.ID = r.UTF()
	return h
}

func (r *metadataReader) changelogFiles(tag uint8) *ChangelogFilesHandle {
	h := &ChangelogFilesHandle{Range: r.keyGroupRange(), Storage: "filesystem"}
	h.Files = list(r, minOffsetHandle, func() ChangelogFile {
		return ChangelogFile{Offset: r.size("offset"), Stream: r.someStream("set of changes")}
	})
	h.Size, h.CheckpointedSize = r.Int64(), r.Int64()
	h.ID = r.UTF()
	if tag == tagChangelogFilesV2 {
		h.Storage = r.UTF()
	}
	return h
}
