package feed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// Once publishes what complete snapshots there are and gives each consumer's newest epoch, also beside an error; none where consumers stand at several steps.
// It waits for nobody but a process that publishes already, and no longer than patience, where 0 is for ever: a sink that is far behind gives a BehindError, and once it
// has caught up there may be more to publish. The error wraps fs.ErrNotExist when there is no snapshot.
func (f *Feed) Once(ctx context.Context, patience time.Duration) (epochs []stream.Epoch, err error) {
	err = f.hold(ctx, patience, func(ctx context.Context) error {
		for {
			if err = f.step(ctx, f.refuseBehind); err == nil {
				continue
			}
			epochs = f.even()
			if !errors.Is(err, errNothing) {
				return err
			}
			f.forgetAnswers()
			return f.settled(ctx)
		}
	})
	return epochs, err
}

// snapshotError is of the snapshots themselves, so that it concerns all consumers alike.
type snapshotError struct{ error }

// Unwrap gives the error.
func (e *snapshotError) Unwrap() error { return e.error }

// settled says what keeps the consumers from standing at the newest snapshot when there is no more to publish.
func (f *Feed) settled(ctx context.Context) error {
	var held []error
	for _, m := range f.members {
		if m.question != nil && m.question.Answer != registry.Keep {
			held = append(held, m.wrap(&HeldError{*m.question}))
		}
	}
	if err := errors.Join(held...); err != nil {
		return err
	}
	if err := f.stale(ctx); err != nil {
		return err
	}
	if newest, all := f.newest(); all && f.even() == nil {
		return fmt.Errorf("the consumers stand at several snapshots, and checkpoint %d is gone before all have reached it: %w", newest.Snapshot.CheckpointID, fs.ErrNotExist)
	}
	return nil
}

// stale gives an error when there is no snapshot, or the newest one is not whole and nobody is writing it: whoever asked for it once would take the one before for it.
func (f *Feed) stale(ctx context.Context) error {
	found, err := f.watch.Snapshots(ctx)
	if err != nil {
		return err
	}
	_, all := f.newest()
	switch {
	case len(found) == 0:
		return &snapshotError{fmt.Errorf("no complete snapshot of the job below %s: %w", f.watch.Checkpoints, fs.ErrNotExist)}
	case f.incomplete != nil && f.incomplete.Location == found[len(found)-1].Location:
		return &snapshotError{fmt.Errorf("the newest snapshot is not whole: %w", root(f.incomplete.err))}
	case !all:
		return &snapshotError{fmt.Errorf("no complete snapshot of the job below %s yet: %w", f.watch.Checkpoints, fs.ErrNotExist)}
	}
	return nil
}

// beingWritten says whether a snapshot was not whole because its metadata file still grows, as far as its age tells: that is no fault.
func beingWritten(found checkpoint.Found, err error) bool {
	cut := new(fault.CorruptError)
	return errors.As(err, &cut) && cut.Truncated && path.Base(cut.File) == checkpoint.MetadataFile && time.Since(found.Time) < writingFor
}
