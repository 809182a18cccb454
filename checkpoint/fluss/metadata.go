package fluss

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/fault"
)

// MetadataFile is the name of the file that makes a directory a snapshot.
const MetadataFile = "_METADATA"

// maxMetadata bounds the file, in which a table of the database takes some 300 bytes.
const maxMetadata = 64 << 20

// Metadata describes a KV snapshot of one bucket.
type Metadata struct {
	TableID     int64
	PartitionID *int64 // nil: the table has no partitions
	BucketID    int64
	SnapshotID  int64
	Location    string // of the snapshot's directory when it was written
	Shared      []File // tables, which other snapshots may have too
	Private     []File
	LogOffset   int64  // of the first record of the bucket's log that the snapshot does not contain
	RowCount    *int64 // as the server counted; nil before 0.9

	place
}

// File is a file of the bucket's database.
type File struct {
	Name string // what the database calls it
	Path string // where it lay when the snapshot was written
	Size int64
}

// version is the only one there is, of Fluss 0.5 to 0.9.
const version = 1

// document is the file as it is written. Pointers are what it must have.
type document struct {
	Version     *int64  `json:"version"`
	TableID     *int64  `json:"table_id"`
	PartitionID *int64  `json:"partition_id"`
	BucketID    *int64  `json:"bucket_id"`
	SnapshotID  *int64  `json:"snapshot_id"`
	Location    *string `json:"snapshot_location"`
	Handle      *struct {
		Shared  []handle `json:"shared_file_handles"`
		Private []handle `json:"private_file_handles"`
	} `json:"kv_snapshot_handle"`
	LogOffset *int64 `json:"log_offset"`
	RowCount  *int64 `json:"row_count"`
}

type handle struct {
	File struct {
		Path string `json:"path"`
		Size int64  `json:"size"`
	} `json:"kv_file_handle"`
	Name string `json:"local_path"`
}

// IsMetadata tells this file from Flink's, which begins with a number of other bytes: a file system may not know small letters from capitals.
func IsMetadata(b []byte) bool { return len(b) > 0 && b[0] == '{' }

// ReadMetadata reads a _METADATA file; its name is for messages.
func ReadMetadata(name string, b []byte) (*Metadata, error) {
	if len(b) > maxMetadata {
		return nil, fault.Unsupported(name, -1, "%d bytes of metadata; up to %d are read", len(b), maxMetadata)
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, malformed(name, b, err)
	}
	if d.Version != nil && *d.Version != version {
		return nil, fault.Unsupported(name, -1, "version %d of a KV snapshot's metadata is not supported (%d is)", *d.Version, version)
	}
	if missing := d.missing(); missing != nil {
		return nil, fault.Corrupt(name, 0, "the metadata lacks %s", strings.Join(missing, ", "))
	}
	m := &Metadata{
		TableID: *d.TableID, PartitionID: d.PartitionID, BucketID: *d.BucketID, SnapshotID: *d.SnapshotID, Location: *d.Location,
		LogOffset: *d.LogOffset, RowCount: d.RowCount,
	}
	var err error
	if m.Shared, err = files(name, d.Handle.Shared); err != nil {
		return nil, err
	}
	if m.Private, err = files(name, d.Handle.Private); err != nil {
		return nil, err
	}
	if err := m.checkNames(name); err != nil {
		return nil, err
	}
	m.place = m.locate()
	return m, nil
}

// malformed tells a file that was cut short, or is still being written, from one that is broken.
func malformed(name string, b []byte, err error) error {
	at, syntax, wrong := int64(0), new(json.SyntaxError), new(json.UnmarshalTypeError)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &wrong):
		at = wrong.Offset
	}
	short := errors.Is(err, io.ErrUnexpectedEOF) || at >= int64(len(b)) && wrong.Offset == 0
	return &fault.CorruptError{File: name, Offset: at, Reason: "no metadata of a KV snapshot: " + err.Error(), Truncated: short}
}

func (d *document) missing() (names []string) {
	for _, m := range []struct {
		name  string
		there bool
	}{
		{"version", d.Version != nil}, {"table_id", d.TableID != nil}, {"bucket_id", d.BucketID != nil}, {"snapshot_id", d.SnapshotID != nil},
		{"snapshot_location", d.Location != nil}, {"kv_snapshot_handle", d.Handle != nil}, {"log_offset", d.LogOffset != nil},
	} {
		if !m.there {
			names = append(names, m.name)
		}
	}
	return names
}

func files(name string, handles []handle) ([]File, error) {
	out := make([]File, 0, len(handles))
	for _, h := range handles {
		switch {
		case h.Name == "" || strings.ContainsAny(h.Name, "/\\"):
			return nil, fault.Corrupt(name, 0, "%q is no file of a database", h.Name)
		case h.File.Path == "" || h.File.Size < 0:
			return nil, fault.Corrupt(name, 0, "file %s lies at %q and has %d bytes", h.Name, h.File.Path, h.File.Size)
		}
		out = append(out, File{Name: h.Name, Path: h.File.Path, Size: h.File.Size})
	}
	return out, nil
}

// checkNames makes sure that the database has no name twice.
func (m *Metadata) checkNames(name string) error {
	seen := map[string]bool{}
	for _, f := range slices.Concat(m.Shared, m.Private) {
		if seen[f.Name] {
			return fault.Corrupt(name, 0, "two files are called %s", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// String names the bucket: bucket 0 of shop.orders, partition 2024.
func (m *Metadata) String() string {
	bucket := fmt.Sprintf("bucket %d of %s", m.BucketID, m.Table)
	switch {
	case m.PartitionID == nil:
		return bucket
	case m.Partition == "":
		return fmt.Sprintf("%s, partition id %d", bucket, *m.PartitionID)
	}
	return fmt.Sprintf("%s, partition %s", bucket, m.Partition)
}
