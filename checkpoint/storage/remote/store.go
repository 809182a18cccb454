package remote

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// Store is a storage.Remote over an API.
type Store struct {
	api     API
	options Options
	gate    *gate
	latency atomic.Int64 // nanoseconds, averaged
}

// firstGuess is the latency before any request was sent.
const firstGuess = 20 * time.Millisecond

// New makes a Store. No request is sent.
func New(api API, o Options) *Store {
	o = o.withDefaults()
	s := &Store{api: api, options: o, gate: newGate(o.Requests)}
	s.latency.Store(int64(firstGuess))
	return s
}

// Open asks for size and version of an object, which its reads are held to.
func (s *Store) Open(ctx context.Context, uri string) (storage.File, error) {
	p, err := s.api.Place(uri)
	if err != nil {
		return nil, err
	}
	o, err := s.stat(ctx, uri, p)
	if err != nil {
		return nil, err
	}
	return &file{store: s, uri: uri, place: p, size: o.Size, version: o.Version}, nil
}

// OpenSized sends no request. The first read settles which version the others are held to.
func (s *Store) OpenSized(ctx context.Context, uri string, size int64) (storage.File, error) {
	p, err := s.api.Place(uri)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &file{store: s, uri: uri, place: p, size: size}, nil
}

// Stat knows objects only, and of directories nothing.
func (s *Store) Stat(ctx context.Context, uri string) (storage.Info, error) {
	p, err := s.api.Place(uri)
	if err != nil {
		return storage.Info{}, err
	}
	o, err := s.stat(ctx, uri, p)
	if err != nil {
		return storage.Info{}, err
	}
	_, name := storage.Split(uri)
	return storage.Info{URI: uri, Name: name, Size: o.Size, ModTime: o.ModTime, Version: o.Version}, nil
}

func (s *Store) stat(ctx context.Context, uri string, p Place) (o Object, err error) {
	if p.Key == "" {
		return o, fmt.Errorf("%s names no object: %w", uri, fs.ErrNotExist)
	}
	err = s.try(ctx, Stat, uri, p, func(ctx context.Context) (bool, error) {
		defer s.measure(time.Now())
		o, err = s.api.Stat(ctx, p)
		return false, err
	})
	if err == nil && o.IsDir {
		err = fmt.Errorf("%s is a directory: %w", uri, fs.ErrNotExist)
	}
	return o, err
}

// maxEntries bounds a listing, which is held in memory.
const maxEntries = 1 << 20

// List gives fs.ErrNotExist for a directory with nothing in it, but for a bucket's root: object stores have no empty directories.
func (s *Store) List(ctx context.Context, uri string) ([]storage.Info, error) {
	p, err := s.api.Place(uri)
	if err != nil {
		return nil, err
	}
	var infos []storage.Info
	for page, first := "", true; first || page != ""; first = false {
		var entries []Object
		if err := s.try(ctx, List, uri, p, func(ctx context.Context) (bool, error) {
			entries, page, err = s.api.List(ctx, p, page)
			return false, err
		}); err != nil {
			return nil, err
		}
		if infos = appendInfos(infos, uri, p, entries); len(infos) > maxEntries {
			return nil, fault.Unsupported(uri, -1, "a directory of more than %d entries", maxEntries)
		}
	}
	if len(infos) == 0 && p.Key != "" {
		return nil, fmt.Errorf("%s: there is nothing below it: %w", uri, fs.ErrNotExist)
	}
	return infos, nil
}

// appendInfos leaves out the object that some tools put for the directory itself, or for one in it.
func appendInfos(infos []storage.Info, uri string, dir Place, entries []Object) []storage.Info {
	dirs := map[string]bool{}
	for _, e := range entries {
		if e.IsDir {
			dirs[strings.TrimSuffix(e.Key, "/")] = true
		}
	}
	for _, e := range entries {
		key := strings.TrimSuffix(e.Key, "/")
		name := strings.TrimPrefix(strings.TrimPrefix(key, dir.Key), "/")
		if name == "" || strings.Contains(name, "/") || !e.IsDir && dirs[key] {
			continue
		}
		infos = append(infos, storage.Info{URI: storage.Join(uri, name), Name: name, Size: e.Size, ModTime: e.ModTime, IsDir: e.IsDir, Version: e.Version})
	}
	return infos
}

// Latency is the measured time to an answer.
func (s *Store) Latency(string) time.Duration { return time.Duration(s.latency.Load()) }

// measure counts a new time for an eighth; two at once may lose one, which does not matter.
func (s *Store) measure(start time.Time) {
	old := s.latency.Load()
	s.latency.Store(old + (int64(time.Since(start))-old)/8)
}
