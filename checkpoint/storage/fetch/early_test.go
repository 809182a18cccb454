package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/checkpoint/storage/slow"
)

// unclosed is a file of a slow store that can be closed many times.
type unclosed struct {
	*storage.Inline
	store *slow.Store
}

func (u *unclosed) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := u.store.Request(ctx); err != nil {
		return err
	}
	return u.Inline.ReadAt(ctx, p, off)
}

// TestEarly: a part that was sent for early is given once, by no further request, and one that failed is read again. Whether it is used or not, its
// memory is free in the end.
func TestEarly(t *testing.T) {
	lost := errors.New("lost")
	s := &slow.Store{Fail: func(n int64) error {
		if n == 1 {
			return lost
		}
		return nil
	}}
	link := fetch.NewLink(time.Millisecond, fetch.Options{Memory: 4000}) // 1000 for what is sent for early
	b, _ := random(t, 10_000, s, link)
	f := link.File(&unclosed{storage.NewInline("f", b), s})
	read := func(off, n int, requests int64) {
		t.Helper()
		before := s.Requests()
		early := link.Early(t.Context(), f, 9000, 1000)
		p := make([]byte, n)
		if err := early.ReadAt(t.Context(), p, int64(off)); err != nil || !bytes.Equal(p, b[off:off+n]) {
			t.Errorf("%d bytes at %d are not those of the file: %v", n, off, err)
		}
		if err := early.Close(); err != nil {
			t.Error(err)
		}
		if got := s.Requests() - before; got > requests {
			t.Errorf("%d requests for %d bytes at %d, more than %d", got, n, off, requests)
		}
	}
	read(9000, 1000, 2) // the part fails
	read(9000, 1000, 1)
	read(9500, 100, 1)
	read(8999, 1000, 2)
	if link.Early(t.Context(), f, 0, 1001) != f {
		t.Error("a part that does not fit the memory was sent for")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	early := link.Early(gone, f, 9000, 1000)
	if err := early.ReadAt(gone, make([]byte, 10), 9000); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := early.Close(); err != nil {
		t.Error(err)
	}
	read(9000, 1000, 1)
}
