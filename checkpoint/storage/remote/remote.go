// Package remote makes a storage.Store of an object store or a file system behind HTTP.
//
//	Store ──> API: one request each ──> s3, gcs, azure, webhdfs
//
// The Store does what is the same everywhere: it reads byte ranges of one version of an object, tries again what is worth it, bounds the
// requests under way, notices short answers and stalled ones, and turns refusals into errors that say what to do. Nothing is ever written.
//
// It knows checkpoint/storage and fault; the drivers and checkpoint/storage/schemes know it.
package remote

import (
	"context"
	"io"
	"time"
)

// Place is an address taken apart: the object Key in Bucket. What a bucket is, is the driver's choice.
type Place struct{ Bucket, Key string }

// Object is what a store says of one of its objects, or of a directory in a listing.
type Object struct {
	Key     string
	Size    int64
	ModTime time.Time
	Version string // changes whenever the content does: an etag, a generation
	IsDir   bool
}

// API is what differs between stores. Each call sends one request and is not repeated by the driver. Its error is a *RefusalError when the store
// answered, and anything else when it did not.
type API interface {
	// Place takes an address apart. It is an error that wraps fault.ErrUnsupported when it cannot be understood.
	Place(uri string) (Place, error)
	Stat(ctx context.Context, p Place) (Object, error)
	// Get asks for n bytes at off; fewer come only where the object ends. With a version, an object of another one is refused with
	// 404 or 412. The Object describes the whole, as far as the answer tells.
	Get(ctx context.Context, p Place, version string, off, n int64) (io.ReadCloser, Object, error)
	// List gives a page of what lies directly below a directory, by full keys, and the token of the next page, "" after the last.
	List(ctx context.Context, dir Place, page string) (entries []Object, next string, err error)
	// Right says what the caller must be allowed to do for op.
	Right(op Op, p Place) string
}

// Op is a kind of request.
type Op string

// The kinds of requests.
const (
	Stat Op = "look at"
	Read Op = "read"
	List Op = "list"
)

// Options tune a Store; the zero value works.
type Options struct {
	Requests int           // under way at once, fewer while the store is asked too much; 0 is 512
	Stall    time.Duration // how long a request may go without a byte; 0 is 30 s
	Tries    int           // of a request that brings nothing; 0 is 8
	Pause    time.Duration // after the first failed try, then ever longer; 0 is 100 ms
}

func (o Options) withDefaults() Options {
	if o.Requests <= 0 {
		o.Requests = 512
	}
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.Tries <= 0 {
		o.Tries = 8
	}
	if o.Pause <= 0 {
		o.Pause = 100 * time.Millisecond
	}
	return o
}
