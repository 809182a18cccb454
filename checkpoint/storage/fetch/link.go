package fetch

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Options tune a Link; the zero value works.
type Options struct {
	Lanes  int   // requests under way at once to a store that is far; 0: 128
	Memory int64 // bytes that may lie fetched before they are needed; 0: 32 MiB
}

const (
	defaultLanes  = 128
	defaultMemory = 32 << 20
	nearLanes     = 16        // requests at once where the files are near
	farRate       = 512 << 20 // bytes a second that are taken to come over all lanes together
	nearRate      = 1 << 30
)

// Link is the way to one store. It may be used by several goroutines.
type Link struct {
	latency time.Duration
	lanes   int
	slots   *semaphore.Weighted // requests
	streams *semaphore.Weighted // bytes; never waited for
	batches *semaphore.Weighted // bytes; waited for, but by nobody who holds some
	memory  int64               // of batches
	busy    atomic.Int64        // batches being fetched
}

// NewLink makes the link to a store whose requests take so long; 0 is near.
func NewLink(latency time.Duration, o Options) *Link {
	if o.Lanes <= 0 {
		o.Lanes = defaultLanes
	}
	if latency == 0 {
		o.Lanes = min(o.Lanes, nearLanes)
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	half := max(o.Memory/2, 1)
	return &Link{latency: latency, lanes: o.Lanes, memory: half,
		slots: semaphore.NewWeighted(int64(o.Lanes)), streams: semaphore.NewWeighted(half), batches: semaphore.NewWeighted(half)}
}

// Far tells whether requests are worth planning for.
func (l *Link) Far() bool { return l.latency > 0 }

// Lanes is how many requests may be under way.
func (l *Link) Lanes() int { return l.lanes }

// Cost is what reading over the link takes.
func (l *Link) Cost() Cost {
	if l.latency == 0 {
		return Cost{Rate: nearRate, Lanes: 1}
	}
	return Cost{Latency: l.latency, Rate: farRate, Lanes: l.lanes}
}

// Store puts the link before a store: the files that it opens share the lanes. A near store stays as it is.
func (l *Link) Store(s storage.Store) storage.Store {
	if r, ok := s.(storage.Remote); ok && l.Far() {
		return &store{r, l}
	}
	return s
}

type store struct {
	storage.Remote
	link *Link
}

func (s *store) Open(ctx context.Context, uri string) (storage.File, error) {
	f, err := s.Remote.Open(ctx, uri)
	return s.link.file(f, err)
}

func (s *store) OpenSized(ctx context.Context, uri string, size int64) (storage.File, error) {
	f, err := s.Remote.OpenSized(ctx, uri, size)
	return s.link.file(f, err)
}

func (l *Link) file(f storage.File, err error) (storage.File, error) {
	if err != nil {
		return nil, err
	}
	return &File{f, l}, nil
}

// File is one behind a link.
type File struct {
	storage.File
	link *Link
}

// Of gives the link that a file lies behind, nil if it is near.
func Of(f storage.File) *Link {
	if far, ok := f.(*File); ok {
		return far.link
	}
	return nil
}

// ReadAt waits for a lane.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := f.link.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer f.link.slots.Release(1)
	return f.File.ReadAt(ctx, p, off)
}

// Section gives a part of the file behind the same link.
func (f *File) Section(off, size int64, name string) storage.File {
	return &File{storage.Section(f.File, off, size, name), f.link}
}
