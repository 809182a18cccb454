package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	maxPause = 5 * time.Second
	maxAfter = 20 * time.Second // that a store can ask for
)

// try sends a request until it succeeds, is refused for good, or has brought nothing for too many tries. A request that was cut
// short but brought some bytes counts as a first one.
func (s *Store) try(ctx context.Context, op Op, uri string, p Place, send func(context.Context) (progress bool, err error)) error {
	policy := s.pauses(ctx)
	err := backoff.Retry(func() error {
		progress, err := s.bounded(ctx, send)
		if err == nil {
			return nil
		}
		if progress {
			policy.Reset()
		}
		if ctx.Err() != nil || !again(err) {
			return backoff.Permanent(err)
		}
		return errors.Join(err, wait(ctx, err))
	}, policy)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", uri, context.Cause(ctx))
	}
	if err != nil {
		return s.explain(op, uri, p, err)
	}
	return nil
}

func (s *Store) pauses(ctx context.Context) backoff.BackOff {
	b := backoff.NewExponentialBackOff(backoff.WithInitialInterval(s.options.Pause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(maxPause), backoff.WithMaxElapsedTime(0))
	return backoff.WithContext(backoff.WithMaxRetries(b, uint64(s.options.Tries-1)), ctx)
}

// wait does what a store that is asked too much asks for.
func wait(ctx context.Context, err error) error {
	var r *RefusalError
	if !errors.As(err, &r) || r.After <= 0 {
		return nil
	}
	t := time.NewTimer(min(r.After, maxAfter))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bounded sends one request when its turn has come.
func (s *Store) bounded(ctx context.Context, send func(context.Context) (bool, error)) (bool, error) {
	if err := s.gate.enter(ctx); err != nil {
		return false, err
	}
	var err error
	defer func() { s.gate.leave(tooMuch(err)) }()
	ctx, watch := newWatch(ctx, s.options.Stall)
	defer watch.stop()
	var progress bool
	progress, err = send(context.WithValue(ctx, watchKey{}, watch))
	if watch.fired(ctx) {
		err = watch.err()
	}
	return progress, err
}

// watch ends a request that goes without a byte for too long.
type watch struct {
	timer  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

type watchKey struct{}

var errStalled = errors.New("stalled")

func newWatch(ctx context.Context, limit time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{limit: limit, cancel: cancel, timer: time.AfterFunc(limit, func() { cancel(errStalled) })}
}

// Alive tells whoever watches over the request of ctx that something came.
func Alive(ctx context.Context) {
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

func (w *watch) fired(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStalled) }

func (w *watch) err() error { return fmt.Errorf("no byte came for %s", w.limit) }
