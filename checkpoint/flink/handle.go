package flink

import "fmt"

// Tags of handles: one number space for keyed (K), stream (S) and operator (O) handles.
const (
	tagNull                  = 0  // K S O
	tagByteStream            = 1  // S
	tagFileStream            = 2  // S
	tagKeyGroups             = 3  // K
	tagPartitionableOperator = 4  // O
	tagIncremental           = 5  // K
	tagRelativeStream        = 6  // S
	tagSavepointKeyGroups    = 7  // K
	tagChangelog             = 8  // K
	tagChangelogBytes        = 9  // K
	tagChangelogFiles        = 10 // K
	tagIncrementalV2         = 11 // K
	tagKeyGroupsV2           = 12 // K
	tagChangelogFilesV2      = 13 // K
	tagChangelogV2           = 14 // K
	tagSegment               = 15 // S
	tagEmptySegment          = 16 // S
	tagSegmentPartitionable  = 17 // O
	tagLast                  = tagSegmentPartitionable
)

// badTag names a tag that cannot stand here: as corrupt if it belongs elsewhere, as unsupported if nobody knows it.
func (r *metadataReader) badTag(tag uint8, what string) {
	if tag <= tagLast {
		r.Fail("handle tag %d where %s is expected", tag, what)
		return
	}
	r.Unsupported("unknown handle tag %d (%s; 0 to %d are known)", tag, what, tagLast)
}

// StreamKind says where the bytes of a StreamHandle are.
type StreamKind uint8

// The kinds of stream handles.
const (
	Bytes        StreamKind = iota + 1 // in Inline
	AbsoluteFile                       // the file at Path
	RelativeFile                       // the file at Path, which is relative to the directory of the _metadata
	Segment                            // Size bytes at Offset of the file at Path
	EmptySegment                       // nowhere: there are none
)

func (k StreamKind) String() string {
	switch k {
	case Bytes:
		return "bytes"
	case AbsoluteFile:
		return "file"
	case RelativeFile:
		return "relative file"
	case Segment:
		return "segment"
	case EmptySegment:
		return "empty segment"
	}
	return fmt.Sprintf("StreamKind(%d)", uint8(k))
}

// StreamHandle points to a run of bytes.
type StreamHandle struct {
	Kind      StreamKind
	Path      string // URI as Flink prints it, or a relative path; of Bytes a name
	Inline    []byte
	Offset    int64
	Size      int64
	Shared    bool   // of Segment: its scope
	LogicalID string // of Segment: the logical file that it holds
}

func (r *metadataReader) stream() *StreamHandle {
	switch tag := r.Uint8(); tag {
	case tagNull:
		return nil
	case tagByteStream:
		h := &StreamHandle{Kind: Bytes, Path: r.UTF()}
		h.Inline = r.Take(r.Count(1))
		h.Size = int64(len(h.Inline))
		return h
	case tagFileStream:
		h := &StreamHandle{Kind: AbsoluteFile, Size: r.size("size")}
		h.Path = r.UTF()
		return h
	case tagRelativeStream: // the other way round than tagFileStream
		h := &StreamHandle{Kind: RelativeFile, Path: r.UTF()}
		h.Size = r.size("size")
		return h
	case tagSegment:
		return r.segment()
	case tagEmptySegment:
		return &StreamHandle{Kind: EmptySegment}
	default:
		r.badTag(tag, "a stream handle")
		return nil
	}
}

func (r *metadataReader) segment() *StreamHandle {
	h := &StreamHandle{Kind: Segment, Offset: r.size("offset"), Size: r.size("size")}
	if h.Offset+h.Size < 0 {
		r.Fail("segment of %d bytes at %d", h.Size, h.Offset)
	}
	switch scope := r.Int32(); scope {
	case 0:
	case 1:
		h.Shared = true
	default:
		r.Unsupported("unknown scope %d of a segment", scope)
	}
	h.Path, h.LogicalID = r.UTF(), r.UTF()
	return h
}

// someStream is stream where there must be one.
func (r *metadataReader) someStream(of string) *StreamHandle {
	h := r.stream()
	if h == nil {
		r.Fail("%s without a stream handle", of)
	}
	return h
}

func (r *metadataReader) size(what string) int64 {
	n := r.Int64()
	if n < 0 {
		r.Fail("negative %s %d", what, n)
	}
	return n
}

// Mode is how operator state is spread over subtasks.
type Mode uint8

// The modes, as they are numbered.
const (
	SplitDistribute Mode = iota
	Union
	Broadcast
)

func (m Mode) String() string {
	switch m {
	case SplitDistribute:
		return "split"
	case Union:
		return "union"
	case Broadcast:
		return "broadcast"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// OperatorHandle holds the operator state of one subtask: one stream, and where each state's elements start in it.
type OperatorHandle struct {
	States                  []OperatorOffsets
	Stream                  *StreamHandle
	Empty                   bool   // merged files only: nothing to read
	TaskOwnedDir, SharedDir string // merged files only
}

// OperatorOffsets is one state of an OperatorHandle.
type OperatorOffsets struct {
	Name    string
	Mode    Mode
	Offsets []int64
}

func (r *metadataReader) operatorHandle() *OperatorHandle {
	tag := r.Uint8()
	switch tag {
	case tagNull:
		return nil
	case tagPartitionableOperator, tagSegmentPartitionable:
	default:
		r.badTag(tag, "an operator state handle")
		return nil
	}
	h := &OperatorHandle{States: list(r, 7, r.operatorOffsets)}
	if tag == tagSegmentPartitionable {
		h.TaskOwnedDir, h.SharedDir, h.Empty = r.UTF(), r.UTF(), r.Bool()
	}
	h.Stream = r.someStream("operator state")
	return h
}

func (r *metadataReader) operatorOffsets() OperatorOffsets {
	o := OperatorOffsets{Name: r.UTF()}
	if o.Mode = Mode(r.Uint8()); o.Mode > Broadcast {
		r.Unsupported("operator state %q: unknown distribution mode %d", o.Name, o.Mode)
	}
	o.Offsets = r.offsets(r.Count(8))
	return o
}

func (r *metadataReader) offsets(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = r.Int64()
	}
	return out
}
