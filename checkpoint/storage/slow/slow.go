// Package slow is a store for tests and benchmarks: another store, but each request takes its time, as with an object store, and
// some may be made to fail.
//
// It knows checkpoint/storage; tests and bench know it.
package slow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Store delays the requests to another one. They run side by side, as many as there are.
type Store struct {
	Inner  storage.Store
	Delay  time.Duration
	Single bool                      // one request at a time
	Fail   func(request int64) error // what request number so many gives, from 1 on; nil: none fails

	one                 sync.Mutex
	requests, now, most atomic.Int64
}

// Requests counts those made so far.
func (s *Store) Requests() int64 { return s.requests.Load() }

// Most is how many requests were under way at once.
func (s *Store) Most() int64 { return s.most.Load() }

// Request waits as long as one takes, and fails as it does.
func (s *Store) Request(ctx context.Context) error {
	if s.Single {
		s.one.Lock()
		defer s.one.Unlock()
	}
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); {
		m = s.most.Load()
	}
	number := s.requests.Add(1)
	if s.Delay > 0 {
		late := time.NewTimer(s.Delay)
		defer late.Stop()
		select {
		case <-late.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.Fail != nil {
		return s.Fail(number)
	}
	return nil
}

// Open asks how large the file is.
func (s *Store) Open(ctx context.Context, uri string) (storage.File, error) {
	if err := s.Request(ctx); err != nil {
		return nil, err
	}
	f, err := s.Inner.Open(ctx, uri)
	return s.file(f, err)
}

// OpenSized asks nothing, but whether the file is there comes out at once.
func (s *Store) OpenSized(ctx context.Context, uri string, _ int64) (storage.File, error) {
	f, err := s.Inner.Open(ctx, uri)
	return s.file(f, err)
}

func (s *Store) file(f storage.File, err error) (storage.File, error) {
	if err != nil {
		return nil, err
	}
	return &file{f, s}, nil
}

// ReadFile is one request.
func (s *Store) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	if err := s.Request(ctx); err != nil {
		return nil, err
	}
	return storage.ReadFile(ctx, s.Inner, uri, limit)
}

// Latency is the delay.
func (s *Store) Latency(string) time.Duration { return s.Delay }

// Stat is one request.
func (s *Store) Stat(ctx context.Context, uri string) (storage.Info, error) {
	if err := s.Request(ctx); err != nil {
		return storage.Info{}, err
	}
	return s.Inner.Stat(ctx, uri)
}

// List is one request.
func (s *Store) List(ctx context.Context, uri string) ([]storage.Info, error) {
	if err := s.Request(ctx); err != nil {
		return nil, err
	}
	return s.Inner.List(ctx, uri)
}

type file struct {
	storage.File
	store *Store
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := f.store.Request(ctx); err != nil {
		return err
	}
	return f.File.ReadAt(ctx, p, off)
}
