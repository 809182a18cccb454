package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// file reads one version of an object.
type file struct {
	store *Store
	uri   string
	place Place
	size  int64

	mu      sync.Mutex
	version string // "" until the first answer
}

func (f *file) Size() int64  { return f.size }
func (f *file) Name() string { return f.uri }
func (f *file) Close() error { return nil }

// Version is that of the content, "" as long as it is not known.
func (f *file) Version() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// Resolve asks for the version when it is not known.
func (f *file) Resolve(ctx context.Context) (string, error) {
	if v := f.Version(); v != "" {
		return v, nil
	}
	o, err := f.store.stat(ctx, f.uri, f.place)
	if err != nil {
		return "", err
	}
	return o.Version, f.same(o)
}

// same holds an answer to the version and the size that the file has. An answer need not tell the version.
func (f *file) same(o Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.version != "" && o.Version != "" && o.Version != f.version:
		return errReplaced
	case o.Size < f.size:
		return &fault.CorruptError{File: f.uri, Offset: o.Size, Truncated: true, Reason: fmt.Sprintf("object of %d bytes, not %d", o.Size, f.size)}
	case o.Size > f.size:
		return fault.Corrupt(f.uri, f.size, "object of %d bytes, not %d", o.Size, f.size)
	case f.version == "":
		f.version = o.Version
	}
	return nil
}

// ReadAt sends one request, whatever the length, and another one for the rest when it is cut short.
func (f *file) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := storage.Within(f.uri, off, len(p), f.size); err != nil || len(p) == 0 {
		return err
	}
	done := 0
	return f.store.try(ctx, Read, f.uri, f.place, func(ctx context.Context) (bool, error) {
		n, _, err := f.store.get(ctx, f.place, f.Version(), p[done:], off+int64(done), f.same)
		done += n
		return n > 0, err
	})
}

// get fills p from an answer that check accepts, and gives how many bytes came. Fewer than the answer promises are an error.
func (s *Store) get(ctx context.Context, p Place, version string, b []byte, off int64, check func(Object) error) (n int, o Object, err error) {
	start := time.Now()
	body, o, err := s.api.Get(ctx, p, version, off, int64(len(b)))
	if err != nil {
		return 0, o, err
	}
	defer body.Close()
	s.measure(start)
	if err := check(o); err != nil {
		return 0, o, err
	}
	b = b[:min(int64(len(b)), max(o.Size-off, 0))]
	for n < len(b) && err == nil {
		Alive(ctx)
		var m int
		m, err = body.Read(b[n:])
		n += m
	}
	switch {
	case n == len(b):
		return n, o, nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%d bytes came of %d: %w", n, len(b), io.ErrUnexpectedEOF)
	}
	return n, o, err
}

// firstPiece is how much is asked for of a file whose size is not known.
const firstPiece = 1 << 20

// ReadFile needs one request for a file of up to a mebibyte, and two for a larger one.
func (s *Store) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	p, err := s.api.Place(uri)
	if err != nil {
		return nil, err
	}
	b := make([]byte, firstPiece)
	f := &file{store: s, uri: uri, place: p}
	err = s.try(ctx, Read, uri, p, func(ctx context.Context) (bool, error) {
		_, o, err := s.get(ctx, p, "", b, 0, func(Object) error { return nil })
		if empty(err) {
			return false, nil
		}
		f.size, f.version = o.Size, o.Version
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if f.size > limit {
		return nil, fault.Unsupported(uri, -1, "file of %d bytes, at most %d are read at once", f.size, limit)
	}
	if f.size <= firstPiece {
		return b[:f.size], nil
	}
	whole := make([]byte, f.size)
	copy(whole, b)
	return whole, f.ReadAt(ctx, whole[firstPiece:], firstPiece)
}

// empty recognises how an object without a byte answers to a request for its first ones.
func empty(err error) bool {
	var r *RefusalError
	return errors.As(err, &r) && r.Status == http.StatusRequestedRangeNotSatisfiable
}
