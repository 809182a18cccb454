// Package storage reads files of a snapshot, wherever they lie: byte ranges, listings, no writing.
//
// It knows fault only; checkpoint and its readers know it. A store is named by the scheme of a URI; "file" (or no scheme) is the local disk.
package storage

import (
	"context"
	"errors"
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

// ErrUnavailable marks that a store gave no proper answer though it was asked several times: nothing is known to be wrong with what was asked for.
var ErrUnavailable = errors.New("storage unavailable")

// Info describes one entry of a listing.
type Info struct {
	URI     string // whole address, ready for Open
	Name    string // last path component
	Size    int64
	ModTime time.Time
	IsDir   bool
	Version string // changes whenever the content does; "" where the store has no such thing
}

// Store is one kind of storage, addressed by whole URIs.
type Store interface {
	// Open gives an error that wraps fs.ErrNotExist when there is no such file.
	Open(ctx context.Context, uri string) (File, error)
	// Stat describes a file. Of a directory only a store that has such a thing tells.
	Stat(ctx context.Context, uri string) (Info, error)
	// List gives the direct entries of a directory, in no set order.
	List(ctx context.Context, uri string) ([]Info, error)
}

// Remote is a Store whose requests take long, however little they ask for, but of which many can be under way at once. A Store
// that sends addresses on to others passes these on too.
type Remote interface {
	Store
	// Latency is about how long a request for uri takes before its first byte comes; 0 if the file is near.
	Latency(uri string) time.Duration
	// OpenSized opens a file whose size is known without asking for it. That it is not there, or shorter, comes out when it is read.
	OpenSized(ctx context.Context, uri string, size int64) (File, error)
	// ReadFile reads a whole file of at most limit bytes, by one request if it is small.
	ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// Latency is what a Remote store says of uri, and 0 of any other store.
func Latency(s Store, uri string) time.Duration {
	if r, ok := s.(Remote); ok {
		return r.Latency(uri)
	}
	return 0
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(ctx context.Context, s Store, uri string, limit int64) ([]byte, error) {
	if r, ok := s.(Remote); ok {
		return r.ReadFile(ctx, uri, limit)
	}
	f, err := s.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(ctx, f, limit)
}
