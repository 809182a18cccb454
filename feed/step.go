package feed

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// step publishes one epoch: what a sink asked for, else the next snapshot. After nil it is to be called again.
func (f *Feed) step(ctx context.Context) error {
	if err := f.trim(ctx); err != nil {
		return err
	}
	if err := f.readQuestion(ctx); err != nil {
		return err
	}
	request, resync, err := f.registry.Resync(ctx, f.consumer.Name)
	if err != nil {
		return err
	}
	if !resync {
		if err := f.awaitSinks(ctx); err != nil {
			return err
		}
	}
	pin, err := f.pick(ctx, resync)
	if err != nil {
		return err
	}
	epoch, err := f.publish(ctx, pin, resync)
	if held := new(HeldError); errors.As(err, &held) {
		err = f.ask(ctx, pin.Found, held.Question)
		if pin != f.base {
			err = errors.Join(err, pin.Release())
		}
		return err
	}
	if err != nil {
		if broken := new(differ.BaseError); errors.As(err, &broken) && f.base != nil && pin != f.base {
			return errors.Join(f.dropBase(ctx, broken), pin.Release())
		}
		if pin != f.base {
			if !errors.Is(err, fault.ErrTruncated) {
				f.passed[pin.Location] = time.Now()
			}
			err = errors.Join(err, pin.Release())
		}
		return err
	}
	return f.advance(ctx, pin, epoch, request, resync)
}

// pick pins the next snapshot. When there is none, or none that needs no answer, it gives the one published last for a sink that asked, a config that
// changed, or an answer that is about it: it is published once more, in full.
func (f *Feed) pick(ctx context.Context, resync bool) (*checkpoint.Pin, error) {
	if f.base == nil || f.waits() && f.asked(f.base.Found) {
		return f.take(ctx)
	}
	if resync && f.waits() {
		return f.base, nil
	}
	pin, err := f.take(ctx)
	if errors.Is(err, errNothing) && (resync || f.reconfigured(ctx) || f.question != nil && !f.waits() && f.asked(f.base.Found)) {
		return f.base, nil
	}
	return pin, err
}

// reconfigured says whether the newest epoch was published under another config: its rows then have to be written anew even if the job has ended
// and no snapshot will follow. What stands in the way, such as a state that is not there, comes out when that is tried. It is looked at once.
func (f *Feed) reconfigured(ctx context.Context) bool {
	if f.checked {
		return false
	}
	f.checked = true
	last, _ := f.publisher.Last()
	snap, err := f.base.Open(ctx, f.options.Snapshot)
	if err != nil {
		return false // the next snapshot finds that out
	}
	defer snap.Close()
	t, err := snap.Table(ctx, f.consumer.Operator, f.consumer.State)
	if err != nil {
		return !f.mirrored(last.Operator, last.State)
	}
	_, columns, err := f.consumer.Project(t.Schema())
	return err != nil || t.Operator.String() != last.Operator || t.Name != last.State || !slices.Equal(columns, last.Columns)
}

// take pins the next snapshot. One whose files vanish meanwhile, or whose metadata is still being written, is passed over: the next one is diffed
// against the same base.
func (f *Feed) take(ctx context.Context) (*checkpoint.Pin, error) {
	candidates, err := f.next(ctx)
	if err != nil {
		return nil, err
	}
	for _, found := range candidates {
		pin, err := f.pins.Take(ctx, f.consumer.Name, found, []string{f.consumer.Operator}, f.options.Snapshot)
		switch {
		case err == nil:
			return pin, nil
		case errors.Is(err, fault.ErrTruncated):
			f.logOnce(ctx, "snapshot is not ready", found, err)
		case errors.Is(err, fs.ErrNotExist):
			f.logOnce(ctx, "snapshot is gone or not whole", found, err)
			f.incomplete = err
		default:
			f.passed[found.Location] = time.Now()
			return nil, err
		}
	}
	return nil, errNothing
}

// dropBase gives up a base that can't be read any more, so that the next step publishes a full epoch.
func (f *Feed) dropBase(ctx context.Context, why error) error {
	f.log.ErrorContext(ctx, "the last published snapshot can't be read any more, so the next epoch is a full one", "error", why)
	base := f.base
	f.base = nil
	return base.Release()
}

// logOnce warns of a snapshot once; the same again is for debugging.
func (f *Feed) logOnce(ctx context.Context, text string, found checkpoint.Found, err error) {
	level := slog.LevelWarn
	if f.logged == found.Location+text {
		level = slog.LevelDebug
	}
	f.logged = found.Location + text
	f.log.Log(ctx, level, text, "checkpoint_id", found.ID, "error", err)
}

// advance makes the published snapshot the base of the next diff.
func (f *Feed) advance(ctx context.Context, pin *checkpoint.Pin, e stream.Epoch, request registry.Resync, resync bool) error {
	f.log.InfoContext(ctx, "epoch published", "epoch", e.Number, "full", e.Full, "checkpoint_id", e.Snapshot.CheckpointID,
		"read", e.Counts.R, "created", e.Counts.C, "updated", e.Counts.U, "deleted", e.Counts.D)
	if err := f.settle(ctx, pin); err != nil {
		return err
	}
	old := f.base
	f.base, f.incomplete = pin, nil
	f.published = append(f.published, published{e.Number, e.Time})
	if resync {
		if err := f.registry.ClearResync(ctx, request); err != nil {
			return err
		}
	}
	if old != nil && old != pin {
		return old.Release()
	}
	return nil
}
