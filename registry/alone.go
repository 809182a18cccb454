package registry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Task is what one process does at a time: to publish a consumer or, with Sink, to mirror it into that sink.
type Task struct{ Consumer, Sink string }

func (t Task) key() string {
	if t.Sink == "" {
		return key(kindLease, t.Consumer)
	}
	return key(kindLease, t.Consumer, t.Sink)
}

// String names the task, for errors.
func (t Task) String() string {
	if t.Sink == "" {
		return "consumer " + t.Consumer
	}
	return fmt.Sprintf("consumer %s, sink %s", t.Consumer, t.Sink)
}

// ErrLeaseLost says that another process may have taken over.
var ErrLeaseLost = errors.New("the lease is lost: another process may have taken over")

// ErrHeld says that another process had the lease for longer than the claim's patience.
var ErrHeld = errors.New("another process has the lease")

// Claim says who wants a lease.
type Claim struct {
	Task
	Holder  string              // for people: it should name the process
	TTL     time.Duration       // how long a holder that died keeps others out
	Waiting func(holder string) // called once if somebody else has the lease; may be nil

	Patience time.Duration // how long somebody else who has the lease is waited for, but no less than that one's TTL: it may have died; 0: for ever
}

// Alone waits for a lease and runs do while it is held. The context of do ends when the lease is lost, which gives ErrLeaseLost.
func (r *Registry) Alone(ctx context.Context, c Claim, do func(context.Context) error) error {
	lease, err := r.Acquire(ctx, c)
	if err != nil {
		return err
	}
	defer lease.Release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-lease.Lost():
			cancel(lease.lostTo())
		case <-ctx.Done():
		}
	}()
	err = do(ctx)
	if lost := context.Cause(ctx); errors.Is(lost, ErrLeaseLost) {
		return lost
	}
	return err
}

// lostTo says why the lease is lost.
func (l *Lease) lostTo() error {
	if l.why != nil {
		return fmt.Errorf("%w, as it could not be renewed: %w", ErrLeaseLost, l.why)
	}
	return ErrLeaseLost
}
