package feed

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/fault"
)

// pick pins the next snapshot for every consumer. When there is none, or none that needs no answer, it gives the one published last for a sink that asked, a config that
// changed, an answer that is about it, or consumers that have not reached it: it is published once more.
func (f *Feed) pick(ctx context.Context) ([]*checkpoint.Pin, error) {
	newest, all := f.newest()
	last := checkpoint.Found{Location: newest.Snapshot.Location, Job: newest.Snapshot.Job, ID: newest.Snapshot.CheckpointID}
	seen := all && f.asked(last)
	switch {
	case !all || f.waits() && seen:
		return f.take(ctx)
	case f.waits() && f.requested():
		return f.again(ctx, last)
	}
	pins, err := f.take(ctx)
	if errors.Is(err, errNothing) && (f.requested() || !f.waits() && (f.even() == nil || seen) || f.reconfigured(ctx)) {
		f.changed = false
		return f.again(ctx, last)
	}
	return pins, err
}

// requested says whether a sink needs a full epoch of one of the consumers.
func (f *Feed) requested() bool {
	return slices.ContainsFunc(f.members, func(m *member) bool { return m.request != nil })
}

// reconfigured says whether a newest epoch was published under another config: its rows then have to be written anew even if the job has ended
// and no snapshot will follow. What stands in the way, such as a state that is not there, comes out when that is tried, which is done once.
func (f *Feed) reconfigured(ctx context.Context) bool {
	if !f.checked {
		f.checked = true
		f.changed = slices.ContainsFunc(f.members, func(m *member) bool { return m.reconfigured(ctx) })
	}
	return f.changed
}

func (m *member) reconfigured(ctx context.Context) bool {
	if m.base == nil {
		return false
	}
	last, _ := m.publisher.Last()
	snap, err := m.base.Open(ctx, m.snapshotOptions())
	if err != nil {
		return false // the next snapshot finds that out
	}
	defer snap.Close()
	t, err := snap.Table(ctx, m.consumer.Operator, m.consumer.State)
	if err != nil {
		return !m.mirrored(last.Operator, last.State)
	}
	_, columns, err := m.consumer.Project(t.Schema())
	return err != nil || t.Operator.String() != last.Operator || t.Name != last.State || !slices.Equal(columns, last.Columns)
}

// take pins the next snapshot. One whose files vanish meanwhile, or whose metadata is still being written, is passed over: the next one is diffed
// against the same base.
func (f *Feed) take(ctx context.Context) ([]*checkpoint.Pin, error) {
	candidates, err := f.next(ctx)
	if err != nil {
		return nil, err
	}
	f.incomplete = nil
	for _, found := range candidates {
		pins, err := f.pinAll(ctx, found)
		switch {
		case err == nil:
			return pins, nil
		case errors.Is(err, fault.ErrTruncated):
			f.logOnce(ctx, "snapshot is not ready", found, err)
			if !beingWritten(found, err) {
				f.lacks(found, err)
			}
		case errors.Is(err, fs.ErrNotExist):
			f.logOnce(ctx, "snapshot is gone or not whole", found, err)
			f.lacks(found, err)
		case noRoom(err):
			return nil, err
		default:
			f.passed[found.Location] = time.Now()
			return nil, unreadable(err)
		}
	}
	return nil, errNothing
}

// lacks notes the newest snapshot that is not whole.
func (f *Feed) lacks(found checkpoint.Found, err error) {
	if f.incomplete == nil || f.incomplete.ID <= found.ID {
		f.incomplete = &incomplete{found, err}
	}
}

// incomplete is a snapshot that is not whole.
type incomplete struct {
	checkpoint.Found
	err error
}

// unreadable tells what is wrong with a snapshot from what is wrong with one consumer.
func unreadable(err error) error {
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported) {
		return &snapshotError{root(err)}
	}
	return err
}

// again pins the snapshot that was published last, also for the consumers that have not reached it.
func (f *Feed) again(ctx context.Context, last checkpoint.Found) ([]*checkpoint.Pin, error) {
	pins, err := f.pinAll(ctx, last)
	if errors.Is(err, fs.ErrNotExist) {
		f.logOnce(ctx, "the last published snapshot is gone, and not every consumer holds it", last, err)
		return nil, errNothing
	}
	return pins, err
}

// pinAll pins a snapshot for all consumers or for none.
func (f *Feed) pinAll(ctx context.Context, found checkpoint.Found) (pins []*checkpoint.Pin, err error) {
	for _, m := range f.members {
		pin, err := m.pin(ctx, found)
		if err != nil {
			return nil, errors.Join(m.wrap(err), f.release(pins))
		}
		pins = append(pins, pin)
	}
	return pins, nil
}

// release gives up what pinAll has taken, as far as it is needed for nothing else.
func (f *Feed) release(pins []*checkpoint.Pin) error {
	var errs []error
	for i, pin := range pins {
		errs = append(errs, f.members[i].release(pin))
	}
	return errors.Join(errs...)
}

// logOnce warns of a snapshot once.
func (f *Feed) logOnce(ctx context.Context, text string, found checkpoint.Found, err error) {
	f.once(ctx, slog.LevelWarn, text, found.Location, snapshotSaid, err, "checkpoint_id", found.ID)
}

// next chooses the snapshot to publish: the first one after the newest that was, or the newest when many wait, a question is open or a consumer is new. Checkpoint ids of
// another job say nothing, and an id that went back means that the job was started anew.
func (f *Feed) next(ctx context.Context) ([]checkpoint.Found, error) {
	found, err := f.watch.Snapshots(ctx)
	found = slices.DeleteFunc(found, func(s checkpoint.Found) bool { return time.Since(f.passed[s.Location]) < passedFor })
	newest := checkpoint.Found{}
	if len(found) > 0 {
		newest = found[len(found)-1]
	}
	if f.waits() {
		found = f.unseen(found)
	}
	if err != nil || len(found) == 0 {
		return nil, cmp.Or(err, errNothing)
	}
	last, all := f.newest()
	if !all || newest.Job != last.Snapshot.Job || newest.ID < last.Snapshot.CheckpointID {
		return newestFirst(found), nil
	}
	var waiting []checkpoint.Found
	for _, s := range found {
		if s.ID > last.Snapshot.CheckpointID {
			waiting = append(waiting, s)
		}
	}
	switch {
	case len(waiting) == 0:
		return nil, errNothing
	case len(waiting) > maxBacklog || f.questioned():
		return newestFirst(waiting), nil
	}
	return waiting, nil
}

func newestFirst(found []checkpoint.Found) []checkpoint.Found {
	out := slices.Clone(found)
	slices.Reverse(out)
	return out
}
