// Package cache keeps what was read of remote files on the local disk.
//
//	DIR/<hash of address and size>/<hash of version>-<offset>-<length>   one range, as it was read
//
//	range    magic (8B), a checksum (4B) for each 16 KiB, the bytes
//
// A checksum covers the name and the place too. What does not match is dropped and read again, so the directory may be deleted or damaged at any time, and several
// processes may share it: a range appears whole, by renaming. The ranges that were used longest ago go first when the limit is reached.
//
// It knows checkpoint/storage; cmd/statebridge knows it.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Store is a storage.Remote that reads from another one what it does not hold.
type Store struct {
	storage.Remote
	disk *disk
}

// New makes a Store that keeps at most limit bytes in dir. Nothing is written before something is read from afar.
func New(dir string, limit int64, from storage.Remote) *Store {
	return &Store{Remote: from, disk: &disk{dir: dir, limit: limit}}
}

// Check makes the directory if it is not there, and fails unless files can be written in it. Reading goes on whatever happens to it later.
func (s *Store) Check() error { return s.disk.check() }

// versioned is a file of which the store can tell one content from another.
type versioned interface {
	storage.File
	Version() string                             // "" before it is known
	Resolve(ctx context.Context) (string, error) // asks for it
}

// Open asks the store for the version, and for no byte that is held.
func (s *Store) Open(ctx context.Context, uri string) (storage.File, error) {
	f, err := s.Remote.Open(ctx, uri)
	return s.wrap(uri, f), err
}

// OpenSized asks for nothing. The version is asked for when something is held that may be of another.
func (s *Store) OpenSized(ctx context.Context, uri string, size int64) (storage.File, error) {
	f, err := s.Remote.OpenSized(ctx, uri, size)
	return s.wrap(uri, f), err
}

func (s *Store) wrap(uri string, f storage.File) storage.File {
	v, ok := f.(versioned)
	if !ok {
		return f
	}
	return &file{versioned: v, disk: s.disk, dir: filepath.Join(s.disk.dir, digest(uri+"\x00"+strconv.FormatInt(f.Size(), 10)))}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

type file struct {
	versioned
	disk *disk
	dir  string

	once sync.Once
	mu   sync.Mutex
	held []span // when the file was first read, and since then by it
}

// ReadAt reads a range from the disk if one that covers it is held, and else from afar by one request.
func (f *file) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := storage.Within(f.Name(), off, len(p), f.Size()); err != nil || len(p) == 0 {
		return err
	}
	if held := f.ranges(); len(held) > 0 {
		version, err := f.Resolve(ctx)
		if err != nil {
			return err
		}
		if f.disk.read(f.dir, held, digest(version), p, off) {
			return ctx.Err()
		}
	}
	if err := f.versioned.ReadAt(ctx, p, off); err != nil {
		return err
	}
	if v := f.Version(); v != "" {
		f.keep(span{digest(v), off, int64(len(p))}, p)
	}
	return nil
}

// ranges gives those that may be held.
func (f *file) ranges() []span {
	f.once.Do(func() { f.held = list(f.dir) })
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.held)
}

func (f *file) keep(s span, p []byte) {
	if f.disk.keep(f.dir, s, p) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = append(f.held, s)
	}
}
