package feed

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// member is one consumer of a feed, and what was published of it.
type member struct {
	feed     *Feed
	consumer Consumer
	log      *slog.Logger

	publisher *stream.Publisher
	base      *checkpoint.Pin    // of the newest epoch's snapshot; nil: the next epoch is a full one
	ahead     *checkpoint.Pin    // of the snapshot that other consumers have reached; nil when there is none, or no pin
	published []published        // epochs not trimmed yet, oldest first
	question  *registry.Question // as it was when the step began; nil: nothing is asked
	request   *registry.Resync   // likewise; nil: no sink needs a full epoch
}

type published struct {
	number uint64
	time   time.Time
}

// memberError is an error of one consumer.
type memberError struct {
	*member
	err error
}

func (e *memberError) Error() string { return fmt.Sprintf("consumer %s: %v", e.consumer.Name, e.err) }

// Unwrap gives the error.
func (e *memberError) Unwrap() error { return e.err }

func (m *member) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &memberError{m, err}
}

// open finds out what was published last.
func (m *member) open(ctx context.Context) (err error) {
	c := registry.Consumer{Name: m.consumer.Name, Operator: m.consumer.Operator, State: m.consumer.State, Time: time.Now()}
	if first := m.feed.members[0]; first != m {
		c.Lease = first.consumer.Name
	}
	if err := m.feed.registry.Register(ctx, c); err != nil {
		return err
	}
	m.publisher, err = m.feed.source.Publisher(ctx, m.consumer.Name)
	return err
}

// findPins keeps the pins of the snapshots of its own newest epoch and of the feed's, and releases all others.
func (m *member) findPins(ctx context.Context, newest stream.SnapshotRef) error {
	held, err := m.feed.pins.Held(m.consumer.Name)
	if err != nil {
		return err
	}
	m.base, m.ahead = nil, nil
	last, ok := m.publisher.Last()
	for _, pin := range held {
		switch {
		case ok && m.base == nil && same(pin.Found, last.Snapshot):
			m.base = pin
		case m.ahead == nil && same(pin.Found, newest):
			m.ahead = pin
		default:
			if err := pin.Release(); err != nil {
				return err
			}
		}
	}
	if ok && m.base == nil {
		m.log.WarnContext(ctx, "the last published snapshot is no longer held, so the next epoch is a full one", "checkpoint_id", last.Snapshot.CheckpointID)
	}
	return nil
}

func same(f checkpoint.Found, r stream.SnapshotRef) bool {
	return f.ID == r.CheckpointID && f.Location == r.Location && f.Job == r.Job
}

// pin holds a snapshot, which may be held already.
func (m *member) pin(ctx context.Context, found checkpoint.Found) (*checkpoint.Pin, error) {
	for _, pin := range []*checkpoint.Pin{m.base, m.ahead} {
		if pin != nil && same(found, ref(pin.Found)) {
			return pin, nil
		}
	}
	return m.feed.pins.Take(ctx, m.consumer.Name, found, []string{m.consumer.Operator}, m.snapshotOptions())
}

// release gives up a pin that the step has taken.
func (m *member) release(pin *checkpoint.Pin) error {
	if pin == m.base || pin == m.ahead {
		return nil
	}
	return pin.Release()
}

func (m *member) snapshotOptions() checkpoint.Options {
	o := m.feed.options.Snapshot
	o.Names = m.consumer.Names
	return o
}

// survey reads what sinks and people have to say before a step.
func (m *member) survey(ctx context.Context) error {
	if err := m.trim(ctx); err != nil {
		return err
	}
	if err := m.readQuestion(ctx); err != nil {
		return err
	}
	request, ok, err := m.feed.registry.Resync(ctx, m.consumer.Name)
	m.request = nil
	if ok {
		m.request = &request
	}
	return err
}

// dropBase gives up a base that can't be read any more, so that the next step publishes a full epoch.
func (m *member) dropBase(ctx context.Context, why error) error {
	m.log.ErrorContext(ctx, "the last published snapshot can't be read any more, so the next epoch is a full one", "error", why)
	base := m.base
	m.base = nil
	return base.Release()
}
