package fetch

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

// counted counts its reads, of which some fail.
type counted struct {
	storage.File
	reads, failing atomic.Int64
}

func (c *counted) ReadAt(ctx context.Context, p []byte, off int64) error {
	c.reads.Add(1)
	if c.failing.Add(-1) >= 0 {
		return errors.New("broken")
	}
	return c.File.ReadAt(ctx, p, off)
}

// TestWindowed: any reads give the bytes of the file, by one request for each window.
func TestWindowed(t *testing.T) {
	want := make([]byte, 3*windowSize+1000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
	c := &counted{File: storage.NewInline("f", want)}
	f := Windowed(NewLink(time.Millisecond, Options{}).File(c))
	c.failing.Store(1)
	if err := f.ReadAt(t.Context(), make([]byte, 10), 0); err == nil {
		t.Error("a failure is kept to itself")
	}
	c.reads.Store(0)
	var g errgroup.Group
	for worker := range 8 {
		g.Go(func() error {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 1000 {
				p := make([]byte, r.IntN(2000))
				off := r.IntN(len(want) - len(p) + 1)
				if err := f.ReadAt(t.Context(), p, int64(off)); err != nil || !bytes.Equal(p, want[off:][:len(p)]) {
					return errors.Join(err, errors.New("the bytes differ"))
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || c.reads.Load() != 4 {
		t.Errorf("%d requests, %v", c.reads.Load(), err)
	}
	whole := make([]byte, len(want))
	if err := f.ReadAt(t.Context(), whole, 0); err != nil || !bytes.Equal(whole, want) || c.reads.Load() != 5 {
		t.Errorf("a large read: %d requests, %v", c.reads.Load(), err)
	}
	if err := f.ReadAt(t.Context(), make([]byte, 11), f.Size()-10); !errors.Is(err, fault.ErrTruncated) {
		t.Errorf("past the end: %v", err)
	}
	if near := Windowed(c); near != storage.File(c) {
		t.Error("a near file is read by windows")
	}
}
