package flink

import (
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	metadataMagic = 0x4960672D
	masterMagic   = 0xC96B1696

	minVersion = 2
	maxVersion = 6
)

// Metadata is one parsed _metadata file.
type Metadata struct {
	Version      int
	CheckpointID int64
	MasterStates []MasterState
	Operators    []Operator
	Properties   *Properties // nil before version 4
}

// MasterState is what a hook of the job's master left.
type MasterState struct {
	Version int
	Name    string
	Payload []byte
}

// Flink2 says whether the job ran on Flink 2.
func (m *Metadata) Flink2() bool { return m.Version >= 5 }

// Kryo5 says whether the job's serializers wrote with Kryo 5 (Flink 2) rather than Kryo 2 (Flink 1).
func (m *Metadata) Kryo5() bool { return m.Flink2() }

// ReadMetadata parses a whole _metadata file; file is its name for messages. The result aliases b.
// A file that is cut short gives an error that wraps fault.ErrTruncated, a version or handle that is not known one that
// wraps fault.ErrUnsupported.
func ReadMetadata(file string, b []byte) (*Metadata, error) {
	r := metadataReader{Reader: javaio.NewReader(file, 0, b)}
	m := r.metadata()
	r.End()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// metadataReader is a javaio.Reader that knows which version it reads.
type metadataReader struct {
	*javaio.Reader
	version int
}

func (r *metadataReader) metadata() *Metadata {
	if magic := r.Uint32(); r.Err() == nil && magic != metadataMagic {
		r.SetErr(fault.Corrupt(r.File(), 0, "not a Flink _metadata file: starts with 0x%08X", magic))
	}
	at := r.Offset()
	r.version = int(r.Int32())
	if r.Err() == nil && (r.version < minVersion || r.version > maxVersion) {
		r.SetErr(fault.Unsupported(r.File(), at, "metadata version %d is not supported (%d to %d are)", r.version, minVersion, maxVersion))
	}
	m := &Metadata{Version: r.version, CheckpointID: r.Int64()}
	if m.CheckpointID < 0 {
		r.Fail("negative checkpoint id %d", m.CheckpointID)
	}
	m.MasterStates = list(r, minMasterState, r.masterState)
	m.Operators = list(r, minOperator, r.operator)
	if r.version >= 4 {
		m.Properties = r.properties()
	}
	return m
}

// The least bytes that one of these takes, whatever the version.
const (
	minMasterState  = 8
	minOperator     = 28
	minSubtask      = 4
	minNamedHandle  = 3
	minHandle       = 1
	minChannel      = 20
	minOffsetHandle = 9
)

const maxPrepared = 1 << 12

// list reads a count and as many items, each of at least minSize bytes.
func list[T any](r *metadataReader, minSize int, item func() T) []T {
	n := r.Count(minSize)
	if n == 0 {
		return nil
	}
	out := make([]T, 0, min(n, maxPrepared)) // a T takes more room than its bytes: a false count must not be costly
	for i := 0; i < n && r.Err() == nil; i++ {
		out = append(out, item())
	}
	return out
}

func (r *metadataReader) masterState() MasterState {
	if magic := r.Uint32(); r.Err() == nil && magic != masterMagic {
		r.Fail("master state starts with 0x%08X", magic)
	}
	at := r.Offset() + 4
	in := javaio.NewReader(r.File(), at, r.Take(r.Count(1)))
	s := MasterState{Version: int(in.Int32()), Name: in.UTF()}
	s.Payload = in.Take(in.Count(1))
	in.End()
	if r.Err() == nil && in.Err() != nil {
		r.SetErr(fault.Corrupt(r.File(), in.Offset(), "master state: %v", in.Err()))
	}
	return s
}
