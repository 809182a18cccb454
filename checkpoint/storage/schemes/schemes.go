// Package schemes gives the one store that a program opens snapshots with: it sends each address to the store of its scheme.
//
// It knows the drivers, checkpoint/storage/remote and checkpoint/storage; cmd/statebridge knows it. Whoever reads local files only needs none of it, and a
// program that reads one cloud only can make a remote.Store of its driver.
package schemes

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/azure"
	"github.com/statebridge/statebridge/checkpoint/storage/gcs"
	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/checkpoint/storage/s3"
	"github.com/statebridge/statebridge/checkpoint/storage/webhdfs"
	"github.com/statebridge/statebridge/fault"
)

// Options are those of the stores; the zero value works where the platform says the rest.
type Options struct {
	S3     s3.Options
	GCS    gcs.Options
	Azure  azure.Options
	HDFS   webhdfs.Options
	CA     string // PEM file of certificates that servers may chain to, beside the system's
	Remote remote.Options
}

// Stores is a storage.Remote for all schemes. The drivers are made when they are needed, so nothing of a cloud's is asked for without an address in it.
type Stores struct {
	options Options

	mu   sync.Mutex
	made map[string]*remote.Store // by the first of its driver's schemes
}

// New makes Stores.
func New(o Options) *Stores {
	return &Stores{options: o, made: map[string]*remote.Store{}}
}

type kind struct {
	schemes []string
	make    func(Options, http.RoundTripper) (remote.API, error)
}

var kinds = []kind{
	{s3.Schemes, func(o Options, t http.RoundTripper) (remote.API, error) { return s3.New(o.S3, t) }},
	{gcs.Schemes, func(o Options, t http.RoundTripper) (remote.API, error) { return gcs.New(o.GCS, t) }},
	{azure.Schemes, func(o Options, t http.RoundTripper) (remote.API, error) { return azure.New(o.Azure, t) }},
	{webhdfs.Schemes, func(o Options, t http.RoundTripper) (remote.API, error) { return webhdfs.New(o.HDFS, t) }},
}

// Known lists all schemes.
func Known() []string {
	known := []string{"file"}
	for _, k := range kinds {
		known = append(known, k.schemes...)
	}
	return known
}

// of gives the store of an address.
func (s *Stores) of(uri string) (storage.Remote, error) {
	scheme := storage.Scheme(uri)
	if scheme == "" || scheme == "file" {
		return near{storage.Local()}, nil
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(k.schemes, scheme) })
	if i < 0 {
		return nil, fault.Unsupported(uri, -1, "storage %q is not supported (%s are)", scheme, strings.Join(Known(), ", "))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := kinds[i].schemes[0]
	if store := s.made[name]; store != nil {
		return store, nil
	}
	t, err := remote.Transport(s.options.CA)
	if err != nil {
		return nil, err
	}
	api, err := kinds[i].make(s.options, t)
	if err != nil {
		return nil, err
	}
	s.made[name] = remote.New(api, s.options.Remote)
	return s.made[name], nil
}

// near makes a storage.Remote of a store that answers at once.
type near struct{ storage.Store }

func (n near) Latency(string) time.Duration { return 0 }

func (n near) OpenSized(ctx context.Context, uri string, _ int64) (storage.File, error) {
	return n.Open(ctx, uri)
}

func (n near) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	return storage.ReadFile(ctx, n.Store, uri, limit)
}

// Open opens a file of any scheme.
func (s *Stores) Open(ctx context.Context, uri string) (storage.File, error) {
	store, err := s.of(uri)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, uri)
}

// OpenSized opens a local file as Open does.
func (s *Stores) OpenSized(ctx context.Context, uri string, size int64) (storage.File, error) {
	store, err := s.of(uri)
	if err != nil {
		return nil, err
	}
	return store.OpenSized(ctx, uri, size)
}

// ReadFile reads a whole file of any scheme.
func (s *Stores) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	store, err := s.of(uri)
	if err != nil {
		return nil, err
	}
	return store.ReadFile(ctx, uri, limit)
}

// Stat describes a file of any scheme.
func (s *Stores) Stat(ctx context.Context, uri string) (storage.Info, error) {
	store, err := s.of(uri)
	if err != nil {
		return storage.Info{}, err
	}
	return store.Stat(ctx, uri)
}

// List lists a directory of any scheme.
func (s *Stores) List(ctx context.Context, uri string) ([]storage.Info, error) {
	store, err := s.of(uri)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, uri)
}

// Latency is 0 for local files, and for addresses that cannot be opened.
func (s *Stores) Latency(uri string) time.Duration {
	store, err := s.of(uri)
	if err != nil {
		return 0
	}
	return store.Latency(uri)
}
