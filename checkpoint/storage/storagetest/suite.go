package storagetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// Target is a store under test, and the way to change what it holds.
type Target struct {
	Store  storage.Remote
	Base   string // address of a directory that is empty
	Put    func(key string, content []byte)
	Delete func(key string)
	Pages  int // entries that need more than one page of a listing; 0: there are no pages
}

// Suite holds a store to what all promise.
func Suite(t *testing.T, s *Target) {
	t.Run("files", s.files)
	t.Run("list", s.list)
	t.Run("replaced", s.replaced)
}

// Content makes bytes that look alike in no place.
func Content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

func (s *Target) files(t *testing.T) {
	ctx, want, uri := t.Context(), Content(2<<20+17), s.Base+"/job a+%20/shared/file"
	s.Put("job a+%20/shared/file", want)
	s.Put("job a+%20/empty", nil)
	opened, err1 := s.Store.Open(ctx, uri)
	sized, err2 := s.Store.OpenSized(ctx, uri, int64(len(want)))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, f := range []storage.File{opened, sized} {
		got := make([]byte, len(want))
		var g errgroup.Group
		for off := 0; off < len(got); off += 1 << 17 {
			p := got[off:min(off+1<<17, len(got))]
			g.Go(func() error { return f.ReadAt(ctx, p, int64(off)) })
		}
		if err := g.Wait(); err != nil || !bytes.Equal(got, want) || f.Size() != int64(len(want)) {
			t.Errorf("%d bytes, or they differ: %v", f.Size(), err)
		}
		if err := f.ReadAt(ctx, make([]byte, 10), f.Size()-9); !errors.Is(err, fault.ErrTruncated) {
			t.Errorf("past the end: %v", err)
		}
	}
	for size, want := range map[int64]error{opened.Size() + 1: fault.ErrTruncated, opened.Size() - 1: fault.ErrCorrupt} {
		f, err := s.Store.OpenSized(ctx, uri, size)
		if err == nil {
			err = f.ReadAt(ctx, make([]byte, 10), 0)
		}
		if !errors.Is(err, want) {
			t.Errorf("taken for %d bytes: %v", size, err)
		}
	}
	if b, err := s.Store.ReadFile(ctx, uri, int64(len(want))); err != nil || !bytes.Equal(b, want) {
		t.Errorf("whole: %d bytes, %v", len(b), err)
	}
	if b, err := s.Store.ReadFile(ctx, s.Base+"/job a+%20/empty", 10); err != nil || len(b) != 0 {
		t.Errorf("empty: %q, %v", b, err)
	}
	if i, err := s.Store.Stat(ctx, uri); err != nil || i.Size != int64(len(want)) || i.Version == "" || i.ModTime.IsZero() || i.Name != "file" {
		t.Errorf("%+v, %v", i, err)
	}
	for _, missing := range []string{"/job a+%20/none", "/job a+%20/shared", "/none/none"} {
		_, err1 := s.Store.Open(ctx, s.Base+missing)
		_, err2 := s.Store.ReadFile(ctx, s.Base+missing, 10)
		if !errors.Is(err1, fs.ErrNotExist) || !errors.Is(err2, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", missing, err1, err2)
		}
	}
}

func (s *Target) list(t *testing.T) {
	n := max(s.Pages, 3)
	for i := range n {
		s.Put(fmt.Sprintf("cp/chk-%05d/_metadata", i), []byte("m"))
	}
	s.Put("cp/file", []byte("123"))
	s.Put("cpx/file", []byte("123"))
	for _, uri := range []string{s.Base + "/cp", s.Base + "/cp/"} {
		infos, err := s.Store.List(t.Context(), uri)
		if err != nil || len(infos) != n+1 {
			t.Fatalf("%d entries, %v", len(infos), err)
		}
		for _, i := range infos {
			if i.IsDir == (i.Name == "file") || !i.IsDir && (i.Size != 3 || i.ModTime.IsZero()) || i.URI != strings.TrimSuffix(uri, "/")+"/"+i.Name {
				t.Errorf("%+v", i)
			}
		}
	}
	if _, err := s.Store.List(t.Context(), s.Base+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// replaced: what was opened is read, or nothing.
func (s *Target) replaced(t *testing.T) {
	for name, change := range map[string]func(){
		"replaced": func() { s.Put("changing", []byte("abcdefghij")) },
		"deleted":  func() { s.Delete("changing") },
	} {
		s.Put("changing", []byte("0123456789"))
		opened, err1 := s.Store.Open(t.Context(), s.Base+"/changing")
		sized, err2 := s.Store.OpenSized(t.Context(), s.Base+"/changing", 10)
		p := make([]byte, 5)
		if err := errors.Join(err1, err2, sized.ReadAt(t.Context(), p, 0)); err != nil || string(p) != "01234" {
			t.Fatalf("%q, %v", p, err)
		}
		change()
		for _, f := range []storage.File{opened, sized} {
			if err := f.ReadAt(t.Context(), p, 5); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %q, %v", name, p, err)
			}
		}
	}
}
