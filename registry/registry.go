package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

// Registry is the registry of one source.
type Registry struct {
	src *stream.Source
	kv  jetstream.KeyValue

	mu    sync.Mutex
	ended map[string]string // session of the lease that this registry had last, by its key; it is free whatever the bucket says
}

const bucket = "registry"

// Open opens the registry of a source and creates its bucket when absent.
func Open(ctx context.Context, s *stream.Source) (*Registry, error) {
	kv, err := s.Bucket(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("registry of source %s: %w", s.Name(), err)
	}
	return &Registry{src: s, kv: kv, ended: map[string]string{}}, nil
}

// Kinds of keys: <kind>.<consumer>, and position.<consumer>.<sink>.
const (
	kindConsumer = "consumer"
	kindPosition = "position"
	kindResync   = "resync"
	kindLease    = "lease"
	kindQuestion = "question"
)

func key(kind string, names ...string) string {
	parts := []string{kind}
	for _, n := range names {
		parts = append(parts, stream.Token(n))
	}
	return strings.Join(parts, ".")
}

// get reads a value; revision 0 says that there is none.
func get[T any](ctx context.Context, r *Registry, key string) (v T, revision uint64, err error) {
	e, err := r.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return v, 0, nil
	}
	if err != nil {
		return v, 0, fmt.Errorf("registry, %s: %w", key, err)
	}
	if err := json.Unmarshal(e.Value(), &v); err != nil {
		return v, 0, fmt.Errorf("registry, %s: %w", key, err)
	}
	return v, e.Revision(), nil
}

func (r *Registry) put(ctx context.Context, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := r.kv.Put(ctx, key, b); err != nil {
		return fmt.Errorf("registry, %s: %w", key, err)
	}
	return nil
}

// list reads all values whose keys match the filter.
func list[T any](ctx context.Context, r *Registry, filter string) ([]T, error) {
	w, err := r.kv.Watch(ctx, filter, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("registry, %s: %w", filter, err)
	}
	defer func() { _ = w.Stop() }()
	var all []T
	for {
		select {
		case e, open := <-w.Updates():
			if e == nil { // all there were
				if !open {
					return nil, fmt.Errorf("registry, %s: listing ended early", filter)
				}
				return all, nil
			}
			var v T
			if err := json.Unmarshal(e.Value(), &v); err != nil {
				return nil, fmt.Errorf("registry, %s: %w", e.Key(), err)
			}
			all = append(all, v)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Consumer is what is known of one consumer.
type Consumer struct {
	Name     string    `json:"name"`
	Operator string    `json:"operator"`
	State    string    `json:"state"`
	Lease    string    `json:"lease,omitempty"` // consumer whose lease its publisher holds; empty: its own
	Time     time.Time `json:"time"`            // of registration

	Positions []Position `json:"-"` // by sink
	Resync    *Resync    `json:"-"` // pending
	Question  *Question  `json:"-"` // that its publisher waits, or waited, to have answered
	Holder    string     `json:"-"` // of the publisher's lease; empty when none
}

// Register makes a consumer known, or updates it.
func (r *Registry) Register(ctx context.Context, c Consumer) error {
	if c.Time.IsZero() {
		c.Time = time.Now().UTC()
	}
	return r.put(ctx, key(kindConsumer, c.Name), c)
}

// Remove forgets a consumer with all that belongs to it here. Its epochs stay, and its dead letters, which Letters.Remove forgets.
func (r *Registry) Remove(ctx context.Context, consumer string) error {
	ps, err := r.Positions(ctx, consumer)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if err := r.RemovePosition(ctx, consumer, p.Sink); err != nil {
			return err
		}
	}
	for _, kind := range []string{kindResync, kindQuestion, kindConsumer} {
		if err := r.kv.Purge(ctx, key(kind, consumer)); err != nil {
			return fmt.Errorf("registry, consumer %s: %w", consumer, err)
		}
	}
	return nil
}

// Consumers lists the consumers, each with its sinks' positions, by name.
func (r *Registry) Consumers(ctx context.Context) ([]Consumer, error) {
	all, err := list[Consumer](ctx, r, kindConsumer+".*")
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		if c.Positions, err = r.Positions(ctx, c.Name); err != nil {
			return nil, err
		}
		q, pending, err := r.Resync(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		if pending {
			c.Resync = &q
		}
		asked, asking, err := r.Question(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		if asking {
			c.Question = &asked
		}
		h, _, err := get[held](ctx, r, key(kindLease, cmp.Or(c.Lease, c.Name)))
		if err != nil {
			return nil, err
		}
		c.Holder = h.Holder
	}
	slices.SortFunc(all, func(a, b Consumer) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
