package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Resync is a request for a full epoch of a consumer.
type Resync struct {
	Consumer string    `json:"consumer"`
	Sink     string    `json:"sink"`
	Reason   string    `json:"reason"`
	Chain    string    `json:"chain"` // position of the sink when it asked
	After    uint64    `json:"after"`
	Time     time.Time `json:"time"`

	revision uint64
}

// RequestResync asks for a full epoch. A request that is pending already stays as it is.
func (r *Registry) RequestResync(ctx context.Context, q Resync) error {
	if q.Time.IsZero() {
		q.Time = time.Now().UTC()
	}
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err := r.kv.Create(ctx, key(kindResync, q.Consumer), b); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("registry, resync of consumer %s: %w", q.Consumer, err)
	}
	return nil
}

// Resync gives the pending request of a consumer, if there is any.
func (r *Registry) Resync(ctx context.Context, consumer string) (Resync, bool, error) {
	q, revision, err := get[Resync](ctx, r, key(kindResync, consumer))
	q.revision = revision
	return q, revision > 0, err
}

// WatchResync sends on the channel whenever a request of the consumer is or becomes pending, until ctx ends; then it closes it. A request that nobody takes is
// replaced by the next one.
func (r *Registry) WatchResync(ctx context.Context, consumer string) (<-chan Resync, error) {
	w, err := r.kv.Watch(ctx, key(kindResync, consumer), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("registry, resync of consumer %s: %w", consumer, err)
	}
	out := make(chan Resync, 1)
	go func() {
		defer close(out)
		defer func() { _ = w.Stop() }()
		for {
			select {
			case e, open := <-w.Updates():
				if !open {
					return
				}
				if q, ok := requestOf(e); ok {
					offer(out, q)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func requestOf(e jetstream.KeyValueEntry) (Resync, bool) {
	var q Resync
	if e == nil || json.Unmarshal(e.Value(), &q) != nil { // nil: all that was there has been sent
		return q, false
	}
	q.revision = e.Revision()
	return q, true
}

// offer replaces what the only sender has put into the channel before.
func offer(out chan Resync, q Resync) {
	select {
	case <-out:
	default:
	}
	out <- q
}

// ClearResync removes the request q, once a full epoch is published. A request made since then stays.
func (r *Registry) ClearResync(ctx context.Context, q Resync) error {
	err := r.kv.Purge(ctx, key(kindResync, q.Consumer), jetstream.LastRevision(q.revision))
	if err != nil && !isConflict(err) {
		return fmt.Errorf("registry, resync of consumer %s: %w", q.Consumer, err)
	}
	return nil
}

// isConflict says whether a key had another revision than the one expected.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
