// Package storage reads files of a snapshot, wherever they lie: byte ranges, listings, no writing.
//
// It knows fault only; checkpoint and its readers know it. A store is named by the scheme of a URI; "file" (or no scheme) is the local disk.
package storage

import (
	"context"
	"time"
)

// File is an immutable file open for reading. Its methods may be called from several goroutines at once.
type File interface {
	// ReadAt fills p from offset off or gives an error; a short file gives one that wraps fault.ErrTruncated.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Size() int64
	Name() string // for messages
	Close() error
}

// Info describes one entry of a listing.
type Info struct {
	URI     string // whole address, ready for Open
	Name    string // last path component
	Size    int64
	ModTime time.Time
	IsDir   bool
}

// Store is one kind of storage, addressed by whole URIs.
type Store interface {
	// Open gives an error that wraps fs.ErrNotExist when there is no such file.
	Open(ctx context.Context, uri string) (File, error)
	Stat(ctx context.Context, uri string) (Info, error)
	// List gives the direct entries of a directory, in no set order.
	List(ctx context.Context, uri string) ([]Info, error)
}
