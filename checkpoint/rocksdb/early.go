package rocksdb

import (
	"context"
	"errors"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// early are far tables whose ends were sent for before the MANIFEST told of them, until they are opened.
type early struct {
	mu    sync.Mutex
	files map[string]storage.File
}

// send sends for the ends of tables side by side. One that can't be opened is left to whoever needs it.
func (e *early) send(ctx context.Context, open Opener, link *fetch.Link, names []string) {
	if !link.Far() {
		return
	}
	e.files = map[string]storage.File{}
	for _, name := range names {
		if f, err := open(ctx, name); err == nil {
			n := sst.Tail(f.Size())
			e.files[name] = link.Early(ctx, f, f.Size()-n, n)
		}
	}
}

// take gives a table once.
func (e *early) take(name string) (f storage.File, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok = e.files[name]
	delete(e.files, name)
	return f, ok
}

func (e *early) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, f := range e.files {
		errs = append(errs, f.Close())
	}
	e.files = nil
	return errors.Join(errs...)
}
