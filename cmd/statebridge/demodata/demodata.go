// Package demodata holds what the demo mirrors: five checkpoints that a real Flink job wrote one after the other, each sharing files with the
// one before. README.md says how they were made.
package demodata

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// The files stand in the order in which the job wrote them, so those of a checkpoint end with its _metadata.
//
//go:embed bank.tar.gz
var bank []byte

// A Snapshot is a checkpoint as it appeared on the job's disk.
type Snapshot struct {
	Path  string // below the folder of checkpoints: job/chk-N
	files []file // that were not there before; _metadata is the last
}

type file struct {
	path string
	data []byte
}

// Snapshots returns all checkpoints, oldest first.
func Snapshots() ([]Snapshot, error) {
	z, err := gzip.NewReader(bytes.NewReader(bank))
	if err != nil {
		return nil, fmt.Errorf("demo data: %w", err)
	}
	var all []Snapshot
	var files []file
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("demo data: %w", err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("demo data: %s: %w", h.Name, err)
		}
		files = append(files, file{h.Name, data})
		if path.Base(h.Name) == "_metadata" {
			all = append(all, Snapshot{Path: path.Dir(h.Name), files: files})
			files = nil
		}
	}
}

// Arrive writes the snapshot below dir, a folder of checkpoints that has all the earlier ones. As with Flink, it is complete once its
// _metadata is there, and that appears whole.
func (s Snapshot) Arrive(dir string) error {
	for _, f := range s.files {
		to := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		part := to + ".part"
		if err := os.WriteFile(part, f.data, 0o644); err != nil {
			return err
		}
		if err := os.Rename(part, to); err != nil {
			return err
		}
	}
	return nil
}
