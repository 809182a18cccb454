package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Position says how far a sink has committed.
type Position struct {
	Consumer string    `json:"consumer"`
	Sink     string    `json:"sink"`
	Chain    string    `json:"chain"`
	Epoch    uint64    `json:"epoch"`
	Time     time.Time `json:"time"` // of the commit
}

// SetPosition reports a sink's position. The truth is in the target; this is for trimming and for people.
func (r *Registry) SetPosition(ctx context.Context, p Position) error {
	if p.Time.IsZero() {
		p.Time = time.Now().UTC()
	}
	return r.put(ctx, key(kindPosition, p.Consumer, p.Sink), p)
}

// RestorePosition reports a position where none is known, as after the consumer was removed or the bucket was lost.
func (r *Registry) RestorePosition(ctx context.Context, p Position) error {
	_, known, err := get[Position](ctx, r, key(kindPosition, p.Consumer, p.Sink))
	if err != nil || known != 0 {
		return err
	}
	return r.SetPosition(ctx, p)
}

// Positions gives the positions of a consumer's sinks, by sink.
func (r *Registry) Positions(ctx context.Context, consumer string) ([]Position, error) {
	all, err := list[Position](ctx, r, key(kindPosition, consumer)+".*")
	slices.SortFunc(all, func(a, b Position) int { return strings.Compare(a.Sink, b.Sink) })
	return all, err
}

// RemovePosition forgets a sink that is no longer configured, so that nothing is kept for it.
func (r *Registry) RemovePosition(ctx context.Context, consumer, sink string) error {
	if err := r.kv.Purge(ctx, key(kindPosition, consumer, sink)); err != nil {
		return fmt.Errorf("registry, position of sink %s: %w", sink, err)
	}
	return nil
}
