package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

// Lease is the right to do a task. It is an economy, not the guarantee: who lost it is fenced by the stream or by the target.
//
// No clocks of two machines are compared. The holder counts up a beat; who waits takes the lease once it has seen one beat unchanged for the lease's time on its own clock. The holder
// gives up when that time has passed on its clock since it began the last renewal that succeeded, which is never later. While the server has no room for a beat it has none for whoever
// might take over either: the holder goes on, to make room.
type Lease struct {
	reg      *Registry
	key      string
	held     held
	revision uint64
	cancel   context.CancelFunc
	lost     chan struct{}
	why      error // it could not be renewed; nil where somebody else has it, and before it is lost
	done     sync.WaitGroup
}

// held is the value of a lease's key.
type held struct {
	Holder  string `json:"holder"`
	Session string `json:"session"` // random, of one Acquire
	Server  string `json:"server"`  // that the holder was connected to: an embedded one knows that what was held in another run of it is free
	TTL     int64  `json:"ttl_ms"`
	Beat    uint64 `json:"beat"`
}

// Acquire waits until the lease is free or its holder has not renewed it for its time.
func (r *Registry) Acquire(ctx context.Context, c Claim) (*Lease, error) {
	if c.TTL <= 0 {
		return nil, fmt.Errorf("lease of %s: time %s", c.Task, c.TTL)
	}
	if _, err := r.src.Bucket(ctx, bucket); err != nil { // makes it again, should somebody have deleted it; its name is all that ours holds
		return nil, fmt.Errorf("lease of %s: %w", c.Task, err)
	}
	l := &Lease{reg: r, key: c.key(), lost: make(chan struct{})}
	l.held = held{Holder: c.Holder, Session: rand.Text(), Server: r.src.Bus().Server(), TTL: max(c.TTL.Milliseconds(), 1)}
	began, err := l.wait(ctx, c)
	if err != nil {
		r.end(l.key, l.held.Session) // it may have been written, and the answer was lost
		return nil, fmt.Errorf("lease of %s: %w", c.Task, err)
	}
	beat, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.done.Go(func() { l.beat(beat, began, c.TTL) })
	return l, nil
}

// wait gives the time at which the successful write began.
func (l *Lease) wait(ctx context.Context, c Claim) (time.Time, error) {
	var seen uint64 // revision of the beat that is watched
	var since time.Time
	waiting, asked := c.Waiting, time.Now()
	for {
		was, revision, err := get[held](ctx, l.reg, l.key)
		if err != nil {
			return time.Time{}, err
		}
		if revision != seen {
			seen, since = revision, time.Now()
		}
		ttl := time.Duration(was.TTL) * time.Millisecond
		dead := l.reg.src.Bus().Embedded() && was.Server != l.held.Server || l.reg.hasEnded(l.key, was.Session)
		if revision == 0 || was.Holder == "" || dead || time.Since(since) >= ttl {
			began := time.Now()
			switch err := l.write(ctx, revision); {
			case err == nil:
				return began, nil
			case !isConflict(err):
				return time.Time{}, err
			}
			continue
		}
		if waiting != nil {
			waiting(was.Holder)
			waiting = nil
		}
		if waited := time.Since(asked); c.Patience > 0 && waited > max(c.Patience, ttl) {
			return time.Time{}, fmt.Errorf("%w: %s, still after %s", ErrHeld, was.Holder, waited.Round(time.Second))
		}
		if err := pause(ctx, min(ttl/5+time.Millisecond, time.Second)); err != nil {
			return time.Time{}, fmt.Errorf("held by %s: %w", was.Holder, err)
		}
	}
}

// write stores the next beat over the revision given; 0 stands for none.
func (l *Lease) write(ctx context.Context, over uint64) error {
	next := l.held
	next.Beat++
	b, err := json.Marshal(next)
	if err != nil {
		return err
	}
	var revision uint64
	if over == 0 {
		revision, err = l.reg.kv.Create(ctx, l.key, b)
	} else {
		revision, err = l.reg.kv.Update(ctx, l.key, b, over)
	}
	if err == nil {
		l.held, l.revision = next, revision
	}
	return err
}

// beat renews until released or lost.
func (l *Lease) beat(ctx context.Context, began time.Time, ttl time.Duration) {
	defer close(l.lost)
	for {
		if pause(ctx, ttl/4) != nil {
			return
		}
		try, cancel := context.WithDeadline(ctx, began.Add(ttl))
		start := time.Now()
		err := l.write(try, l.revision)
		if isConflict(err) {
			err = l.adopt(try)
		}
		cancel()
		switch {
		case err == nil, stream.IsFull(err):
			began = start
		case isConflict(err):
			return
		case time.Since(began) >= ttl:
			l.why = err
			return
		}
	}
}

// adopt renews over a beat of our own whose answer was lost; the lease of somebody else is a conflict.
func (l *Lease) adopt(ctx context.Context) error {
	is, revision, err := get[held](ctx, l.reg, l.key)
	if err != nil {
		return err
	}
	if is.Session != l.held.Session {
		return jetstream.ErrKeyExists
	}
	return l.write(ctx, revision)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lost is closed once the lease is no longer held, for whatever reason.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// end notes that whoever had the lease in this process no longer uses it, even if nobody can be told.
func (r *Registry) end(key, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[key] = session
}

func (r *Registry) hasEnded(key, session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return session != "" && r.ended[key] == session
}

// Release ends the heartbeat and gives the lease back, if it is still held. Should that fail, it ends by itself.
func (l *Lease) Release() {
	l.cancel()
	l.done.Wait()
	l.reg.end(l.key, l.held.Session)
	l.held.Holder = ""
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = l.write(ctx, l.revision)
}
