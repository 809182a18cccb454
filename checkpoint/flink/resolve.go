package flink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// Opener opens what a stream handle points to.
type Opener func(ctx context.Context, h *StreamHandle) (storage.File, error)

// URIOpener opens the file at an address. If that takes long it calls found as soon as it is known that the file is there.
type URIOpener func(ctx context.Context, uri string, found func()) (storage.File, error)

// byStore is the one that opens files where they are.
func (r *Resolver) byStore(ctx context.Context, uri string, _ func()) (storage.File, error) {
	return r.store.Open(ctx, uri)
}

// PathMap replaces the front of absolute paths: what lay below From lies below To now.
type PathMap struct{ From, To string }

// Resolver opens the files of one snapshot, which may have been moved or copied since it was written. Relative handles
// are looked up in the directory of the _metadata. For an absolute one it tries Candidates in their order; where one
// file was found, files with the same front are looked for first. It may be used by several goroutines.
type Resolver struct {
	store storage.Store
	dir   string
	maps  []PathMap

	mu      sync.Mutex
	learned []PathMap     // what worked, the latest first
	first   chan struct{} // closed once the first file was looked for; nil: it was not yet
}

// NewResolver makes a Resolver for the snapshot whose _metadata lies in dir.
func NewResolver(store storage.Store, dir string, maps []PathMap) *Resolver {
	return &Resolver{store: store, dir: strings.TrimRight(dir, "/"), maps: maps}
}

// Open opens what h points to. An error that wraps fs.ErrNotExist says where it was looked for.
func (r *Resolver) Open(ctx context.Context, h *StreamHandle) (storage.File, error) {
	return r.OpenBy(ctx, h, r.byStore)
}

// OpenBy is Open, but each place is looked at by open, which does what the store would.
func (r *Resolver) OpenBy(ctx context.Context, h *StreamHandle, open URIOpener) (storage.File, error) {
	f, err := r.openFile(ctx, h, open)
	if err != nil {
		return nil, err
	}
	if h.Kind == Segment {
		return r.segment(f, h)
	}
	if f.Size() != h.Size {
		name, size := f.Name(), f.Size()
		return nil, errors.Join(&fault.CorruptError{File: name, Offset: min(size, h.Size), Truncated: size < h.Size,
			Reason: fmt.Sprintf("file of %d bytes, the snapshot says %d", size, h.Size)}, f.Close())
	}
	return f, nil
}

// OpenSized is Open where files are far and their sizes known: it asks for nothing, and what is not as the handle says comes out
// when the file is read. Near files are opened at once.
func (r *Resolver) OpenSized(ctx context.Context, h *StreamHandle) (storage.File, error) {
	store, ok := r.store.(storage.Remote)
	if !ok || h.Kind != AbsoluteFile && h.Kind != RelativeFile || !tame(h.Path) || store.Latency(r.dir) == 0 {
		return r.Open(ctx, h)
	}
	return r.expect(ctx, store, h)
}

func (r *Resolver) segment(f storage.File, h *StreamHandle) (storage.File, error) {
	if size := f.Size(); h.Offset+h.Size > size {
		return nil, errors.Join(&fault.CorruptError{File: f.Name(), Offset: size, Truncated: true,
			Reason: fmt.Sprintf("segment of %d bytes at %d in a file of %d", h.Size, h.Offset, size)}, f.Close())
	}
	return storage.Section(f, h.Offset, h.Size, fmt.Sprintf("%s[%d+%d]", f.Name(), h.Offset, h.Size)), nil
}

// OpenFile opens the whole physical file that h lies in, whatever its size: the sizes of changelog handles are not
// those of their files, and who pins files wants the file and not the segment.
func (r *Resolver) OpenFile(ctx context.Context, h *StreamHandle) (storage.File, error) {
	return r.openFile(ctx, h, r.byStore)
}

func (r *Resolver) openFile(ctx context.Context, h *StreamHandle, open URIOpener) (storage.File, error) {
	switch {
	case h == nil:
		return nil, errors.New("no stream handle")
	case h.Kind == Bytes:
		return storage.NewInline(fmt.Sprintf("state %q inside %s/_metadata", h.Path, r.dir), h.Inline), nil
	case h.Kind == EmptySegment:
		return storage.NewInline("empty segment", nil), nil
	case !tame(h.Path):
		return nil, fault.Corrupt(r.dir+"/_metadata", -1, "path %q climbs out of its directory", h.Path)
	case h.Kind != RelativeFile:
		return r.absolute(ctx, h.Path, open)
	case strings.HasPrefix(h.Path, "/"):
		return nil, fault.Corrupt(r.dir+"/_metadata", -1, "relative path %q starts with a slash", h.Path)
	}
	return open(ctx, storage.Join(r.dir, h.Path), func() {})
}

// tame says whether no component of path leads upwards.
func tame(path string) bool {
	return path != "" && !slices.Contains(strings.Split(path, "/"), "..")
}

// FoundError marks that a file was found but could not be opened, so that it is not looked for anywhere else.
type FoundError struct{ Err error }

func (e *FoundError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *FoundError) Unwrap() error { return e.Err }

func (r *Resolver) absolute(ctx context.Context, path string, open URIOpener) (storage.File, error) {
	done, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	learned := r.lessons()
	var other error // a place that could not be looked at
	tried := map[string]bool{}
	for m := range candidates(r.dir, path, r.maps, learned) {
		uri := m.apply(path)
		if tried[uri] {
			continue
		}
		tried[uri] = true
		found := func() {
			r.learn(m)
			done()
		}
		f, err := open(ctx, uri, found)
		if err == nil {
			found()
			return f, nil
		}
		if final := new(FoundError); ctx.Err() != nil || errors.As(err, &final) {
			return nil, err
		}
		if !errors.Is(err, fs.ErrNotExist) && other == nil {
			other = err
		}
	}
	if other == nil {
		other = fs.ErrNotExist
	}
	return nil, fmt.Errorf("%s: neither there nor beside %s; where it is now a path map can say: %w", path, r.dir, other)
}

// maxLearned bounds what is tried first; a snapshot refers to a handful of directories.
const maxLearned = 8

// begin lets the first file be looked for alone, since the others are likely to lie where it is.
func (r *Resolver) begin(ctx context.Context) (done func(), err error) {
	r.mu.Lock()
	first := r.first
	if first == nil {
		r.first = make(chan struct{})
		first = r.first
		r.mu.Unlock()
		return sync.OnceFunc(func() { close(first) }), nil
	}
	r.mu.Unlock()
	select {
	case <-first:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *Resolver) lessons() []PathMap {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.learned)
}

func (r *Resolver) learn(m PathMap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.learned, m); i >= 0 {
		r.learned = slices.Delete(r.learned, i, i+1)
	}
	r.learned = slices.Insert(r.learned, 0, m)
	r.learned = r.learned[:min(len(r.learned), maxLearned)]
}

func (m PathMap) matches(path string) bool {
	from := strings.TrimRight(m.From, "/")
	return strings.HasPrefix(path, from) && (len(path) == len(from) || path[len(from)] == '/')
}

func (m PathMap) apply(path string) string {
	from := strings.TrimRight(m.From, "/")
	return strings.TrimRight(m.To, "/") + path[len(from):]
}
