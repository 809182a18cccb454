package fetch

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// Options tune a Link; the zero value works.
type Options struct {
	Lanes  int   // requests under way at once to a store that is far, fewer where the memory is small; 0: 512
	Memory int64 // bytes that may lie fetched before they are needed; 0: 64 MiB
}

const (
	defaultLanes  = 512
	defaultMemory = 64 << 20
	laneMemory    = 64 << 10  // what a connection takes is a share of the memory too, though it comes on top
	fewLanes      = 16        // that there are in any case
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
	early   *semaphore.Weighted // bytes of the streams that may be sent for before anybody asks, so that scans have the rest
	batches *semaphore.Weighted // bytes; waited for, but by nobody who holds some
	memory  int64               // of batches

	mu            sync.Mutex
	busy, pending int // batches that are fetched, and their requests that have not been answered
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
	o.Lanes = min(o.Lanes, max(int(o.Memory/laneMemory), fewLanes))
	half := max(o.Memory/2, 1)
	return &Link{latency: latency, lanes: o.Lanes, memory: half,
		slots: semaphore.NewWeighted(int64(o.Lanes)), streams: semaphore.NewWeighted(half), early: semaphore.NewWeighted(half / 2), batches: semaphore.NewWeighted(half)}
}

// Far tells whether requests are worth planning for. No link is near.
func (l *Link) Far() bool { return l != nil && l.latency > 0 }

// Lanes is how many requests may be under way.
func (l *Link) Lanes() int { return l.lanes }

// Cost is what reading over the link takes.
func (l *Link) Cost() Cost {
	if l.latency == 0 {
		return Cost{Rate: nearRate, Lanes: 1}
	}
	return Cost{Latency: l.latency, Rate: farRate, Lanes: l.lanes}
}

// plan joins spans to the ranges of one more batch. Those lanes count that are free, or its part of all where hardly any are.
func (l *Link) plan(files [][]Span) [][]Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.Cost()
	if free := c.Lanes - l.pending; free >= c.Lanes/8 {
		c.Lanes = max(free, 1)
	} else {
		c.Lanes = max(c.Lanes/(l.busy+1), 1)
	}
	files = plan(files, c, l.memory)
	l.busy++
	l.pending += int(count(files))
	return files
}

// answered takes requests of a batch off those that are waited for.
func (l *Link) answered(n int, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending -= n
	if last {
		l.busy--
	}
}

// File puts a file behind the link: all such files share its lanes. A near one stays as it is.
func (l *Link) File(f storage.File) storage.File {
	if !l.Far() {
		return f
	}
	return &far{f, l}
}

// far is a file behind a link.
type far struct {
	storage.File
	link *Link
}

// Of gives the link that a file lies behind, nil if it is near.
func Of(f storage.File) *Link {
	switch f := f.(type) {
	case *far:
		return f.link
	case *windowed:
		return f.link
	case *early:
		return f.link
	}
	return nil
}

// ReadAt waits for a lane.
func (f *far) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := f.link.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer f.link.slots.Release(1)
	return f.File.ReadAt(ctx, p, off)
}
