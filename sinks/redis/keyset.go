package redis

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// parts is how many files a set is spread over: one of them at a time must fit memory.
const parts = 128

// seed spreads keys; all sets of a process spread them alike.
var seed = maphash.MakeSeed()

// keySet is a set of keys on disk, as many as there are.
type keySet struct {
	parent, dir string
	mu          sync.Mutex
	files       [parts]*os.File
	to          [parts]*bufio.Writer
}

func newKeySet(parent string) (*keySet, error) {
	dir, err := os.MkdirTemp(parent, "keys-")
	if err != nil {
		return nil, fmt.Errorf("temporary directory: %w", err)
	}
	return &keySet{parent: parent, dir: dir}, nil
}

func (s *keySet) add(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := maphash.String(seed, key) % parts
	if s.files[i] == nil {
		f, err := os.Create(filepath.Join(s.dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		s.files[i], s.to[i] = f, bufio.NewWriter(f)
	}
	var size [binary.MaxVarintLen64]byte
	if _, err := s.to[i].Write(binary.AppendUvarint(size[:0], uint64(len(key)))); err != nil {
		return err
	}
	_, err := s.to[i].WriteString(key)
	return err
}

// without tells, once each, of the keys that the other set lacks.
func (s *keySet) without(other *keySet, tell func(key string) error) error {
	for i := range parts {
		has := map[string]bool{}
		if err := other.each(i, func(key string) error { has[key] = true; return nil }); err != nil {
			return err
		}
		err := s.each(i, func(key string) error {
			if has[key] {
				return nil
			}
			has[key] = true
			return tell(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each gives the keys of one file.
func (s *keySet) each(i int, f func(key string) error) error {
	if s.files[i] == nil {
		return nil
	}
	if err := s.to[i].Flush(); err != nil {
		return err
	}
	if _, err := s.files[i].Seek(0, io.SeekStart); err != nil {
		return err
	}
	for r := bufio.NewReader(s.files[i]); ; {
		n, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		key := make([]byte, n)
		if _, err := io.ReadFull(r, key); err != nil {
			return err
		}
		if err := f(string(key)); err != nil {
			return err
		}
	}
}

func (s *keySet) close() error {
	var errs []error
	for _, f := range s.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
