package registry

import (
	"context"
	"time"

	"github.com/statebridge/statebridge/stream"
)

// Registry is the registry of one source.
type Registry struct {
}

// Open opens the registry of a source and creates its bucket when absent.
func Open(ctx context.Context, s *stream.Source) (*Registry, error) { panic("not yet") }

// Consumer is what is known of one consumer.
type Consumer struct {
	Name      string     `json:"name"`
	Operator  string     `json:"operator"`
	State     string     `json:"state"`
	Time      time.Time  `json:"time"` // of registration
	Positions []Position `json:"-"`
	Resync    *Resync    `json:"-"`
	Holder    string     `json:"-"` // of the publisher's lease; empty when none
}

// Register makes a consumer known, or updates it.
func (r *Registry) Register(ctx context.Context, c Consumer) error { panic("not yet") }

// Consumers lists the consumers, each with its sinks' positions, by name.
func (r *Registry) Consumers(ctx context.Context) ([]Consumer, error) { panic("not yet") }

// Position says how far a sink has committed.
type Position struct {
	Consumer string    `json:"consumer"`
	Sink     string    `json:"sink"`
	Chain    string    `json:"chain"`
	Epoch    uint64    `json:"epoch"`
	Time     time.Time `json:"time"`
}

// SetPosition reports a sink's position. The truth is in the target; this is for trimming and for people.
func (r *Registry) SetPosition(ctx context.Context, p Position) error { panic("not yet") }

// Positions gives the positions of a consumer's sinks, by sink.
func (r *Registry) Positions(ctx context.Context, consumer string) ([]Position, error) {
	panic("not yet")
}

// RemovePosition forgets a sink that is no longer configured.
func (r *Registry) RemovePosition(ctx context.Context, consumer, sink string) error {
	panic("not yet")
}

// Resync asks for a full epoch of a consumer.
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
func (r *Registry) RequestResync(ctx context.Context, q Resync) error { panic("not yet") }

// Resync gives the pending request of a consumer, if there is any.
func (r *Registry) Resync(ctx context.Context, consumer string) (Resync, bool, error) {
	panic("not yet")
}

// WatchResync sends on the channel whenever a request of the consumer is or becomes pending, until ctx ends; then it closes it.
func (r *Registry) WatchResync(ctx context.Context, consumer string) (<-chan Resync, error) {
	panic("not yet")
}

// ClearResync removes the request q, once a full epoch is published. A request made since then stays.
func (r *Registry) ClearResync(ctx context.Context, q Resync) error { panic("not yet") }

// Lease is the right to publish for a consumer. It is an economy, not the guarantee: a publisher that lost it is fenced by the stream.
type Lease struct {
}

// Acquire waits until the lease is free or its holder has not renewed it for ttl, as seen on this process's own clock. holder is for people.
func (r *Registry) Acquire(ctx context.Context, consumer, holder string, ttl time.Duration) (*Lease, error) {
	panic("not yet")
}

// Lost is closed once the lease is no longer held.
func (l *Lease) Lost() <-chan struct{} { panic("not yet") }

// Release gives the lease back and waits for its heartbeat to end.
func (l *Lease) Release() { panic("not yet") }
