package feed

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/fault"
)

// step publishes one epoch of each consumer: what a sink asked for, else the next snapshot. After nil it is to be called again. Before anything that sinks do not
// wait for, heed deals with those that are far behind.
func (f *Feed) step(ctx context.Context, heed func(context.Context) error) error {
	for _, m := range f.members {
		if err := m.survey(ctx); err != nil {
			return m.wrap(err)
		}
	}
	if !f.requested() && f.even() != nil && !f.reconfigured(ctx) { // else the sinks may be waiting for this step
		if err := heed(ctx); err != nil {
			return err
		}
	}
	pins, err := f.pick(ctx)
	if err != nil {
		return err
	}
	moves, err := f.write(ctx, pins)
	defer func() {
		for _, v := range moves {
			v.close()
		}
	}()
	if err != nil {
		return errors.Join(f.failed(ctx, moves, err), f.release(pins))
	}
	if err := f.commit(ctx, moves); err != nil {
		return &commitError{err} // which of them are published is seen when the feed is opened again; until then all pins stay
	}
	return f.advance(ctx, moves)
}

// commitError is of a step that may have been published, or some of its epochs.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// failed deals with what kept a step from publishing anything.
func (f *Feed) failed(ctx context.Context, moves []*move, err error) error {
	if errors.Is(err, errHeld) {
		return f.ask(ctx, moves)
	}
	fresh := slices.ContainsFunc(moves, func(v *move) bool { return v.pin != v.base })
	broken, one := new(differ.BaseError), new(memberError)
	if fresh && errors.As(err, &broken) && errors.As(err, &one) && one.base != nil {
		return one.dropBase(ctx, broken)
	}
	if fresh && !errors.Is(err, fault.ErrTruncated) && !noRoom(err) {
		f.passed[moves[0].pin.Location] = time.Now()
	}
	return err
}

// advance makes the published snapshot the base of the next diffs.
func (f *Feed) advance(ctx context.Context, moves []*move) error {
	for _, v := range moves {
		if err := v.advance(ctx); err != nil {
			return v.wrap(err)
		}
	}
	f.incomplete, f.changed = nil, false
	if !f.questioned() {
		f.seen = checkpoint.Found{}
	}
	return nil
}

func (v *move) advance(ctx context.Context) error {
	e := v.epoch
	v.log.InfoContext(ctx, "epoch published", "epoch", e.Number, "full", e.Full, "checkpoint_id", e.Snapshot.CheckpointID,
		"read", e.Counts.R, "created", e.Counts.C, "updated", e.Counts.U, "deleted", e.Counts.D)
	if err := v.settle(ctx, v.pin); err != nil {
		return err
	}
	old := []*checkpoint.Pin{v.base, v.ahead}
	v.base, v.ahead = v.pin, nil
	v.published = append(v.published, published{e.Number, e.Time})
	if v.request != nil {
		if err := v.feed.registry.ClearResync(ctx, *v.request); err != nil {
			return err
		}
	}
	for _, pin := range old {
		if pin == nil || pin == v.base {
			continue
		}
		if err := pin.Release(); err != nil {
			return err
		}
	}
	return nil
}
