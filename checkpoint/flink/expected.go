package flink

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// expected is a file that is taken to be at the likeliest place, without asking. It is looked for only if it turns out not to be there.
type expected struct {
	r      *Resolver
	handle *StreamHandle
	from   PathMap // the likeliest place

	mu   sync.Mutex
	file storage.File
	sure bool // that the file is this one
}

// expect opens the file of a handle where it is expected.
func (r *Resolver) expect(ctx context.Context, store storage.Remote, h *StreamHandle) (storage.File, error) {
	e := &expected{r: r, handle: h}
	uri := storage.Join(r.dir, h.Path)
	if h.Kind == AbsoluteFile {
		e.from = r.likeliest(h.Path)
		uri = e.from.apply(h.Path)
	} else if e.sure = true; strings.HasPrefix(h.Path, "/") {
		return r.Open(ctx, h) // which says what is wrong with it
	}
	var err error
	e.file, err = store.OpenSized(ctx, uri, h.Size)
	return e, err
}

// likeliest gives the best candidate: what worked, if anything did.
func (r *Resolver) likeliest(path string) PathMap {
	for m := range candidates(r.dir, path, r.maps, r.lessons()) {
		return m
	}
	return PathMap{}
}

// ReadAt looks for the file elsewhere when its first read finds nothing.
func (e *expected) ReadAt(ctx context.Context, p []byte, off int64) error {
	f, sure := e.present()
	err := f.ReadAt(ctx, p, off)
	switch {
	case sure || err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil:
		e.found()
		return nil
	}
	if f, err = e.search(ctx); err != nil {
		return err
	}
	return f.ReadAt(ctx, p, off)
}

func (e *expected) present() (f storage.File, sure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.file, e.sure
}

func (e *expected) found() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.sure {
		e.sure = true
		e.r.learn(e.from)
	}
}

// search opens the file where it is.
func (e *expected) search(ctx context.Context) (storage.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sure { // another read has been here
		return e.file, nil
	}
	f, err := e.r.Open(ctx, e.handle)
	if err != nil {
		return nil, err
	}
	_ = e.file.Close() // nothing was read of it
	e.file, e.sure = f, true
	return f, nil
}

func (e *expected) Size() int64 { return e.handle.Size }

func (e *expected) Name() string {
	f, _ := e.present()
	return f.Name()
}

func (e *expected) Close() error {
	f, _ := e.present()
	return f.Close()
}
