package feed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
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

// publish writes one epoch. An error leaves an attempt that nobody applies.
func (f *Feed) publish(ctx context.Context, pin *checkpoint.Pin, resync bool) (stream.Epoch, error) {
	var opened []*checkpoint.Snapshot
	defer func() {
		for _, s := range opened {
			s.Close()
		}
	}()
	open := func(pin *checkpoint.Pin) (view, error) {
		snap, err := pin.Open(ctx, f.options.Snapshot)
		if err != nil {
			return view{}, err
		}
		opened = append(opened, snap)
		return f.find(ctx, snap)
	}
	next, err := open(pin)
	if err != nil {
		return stream.Epoch{}, err
	}
	held := new(HeldError)
	err = f.doubt(next, func() (view, error) { return open(f.base) })
	accepted := errors.As(err, &held) && f.accepted(held.Kind)
	if err != nil && !accepted {
		return stream.Epoch{}, err
	}
	if next.Table == nil {
		return f.publishNone(ctx, pin, resync)
	}
	columns, wire, err := f.consumer.Project(next.Schema())
	if err != nil {
		return stream.Epoch{}, fault.Unsupported(pin.Location, -1, "consumer %s: %v", f.consumer.Name, err)
	}
	e := stream.Epoch{
		Full: resync, Resync: resync, Snapshot: ref(pin.Found), Columns: wire, Partitions: min(f.options.Partitions, next.MaxParallelism()),
		Operator: next.Operator.String(), State: next.Name,
	}
	base := f.baseTable(ctx, open, next.Table, &e)
	return f.publishRows(ctx, e, rows{base, next.Table, columns, f.tally(e.Full, accepted || f.accepted(registry.ManyDeletes))})
}

// publishNone writes an epoch that holds no row, for a table that is no longer there.
func (f *Feed) publishNone(ctx context.Context, pin *checkpoint.Pin, resync bool) (stream.Epoch, error) {
	last, _ := f.publisher.Last()
	w, err := f.publisher.Begin(ctx, stream.Epoch{
		Full: true, Resync: resync, Snapshot: ref(pin.Found), Columns: last.Columns, Partitions: last.Partitions, Operator: f.consumer.Operator, State: f.consumer.State,
	})
	if err != nil {
		return stream.Epoch{}, err
	}
	defer w.Abort()
	return w.Commit(ctx)
}

// rows is what the rows of an epoch come from.
type rows struct {
	base    differ.Table // nil: every row of next
	next    *checkpoint.Table
	columns []state.Column
	tally   *tally
}

// publishRows writes an epoch unless it takes away too many rows. While the consumer is held for that, the rows are counted before anything is written: there may be a
// new snapshot every second, each to be refused again.
func (f *Feed) publishRows(ctx context.Context, e stream.Epoch, r rows) (stream.Epoch, error) {
	if f.waits() {
		r.tally.closed.Store(true)
		if err := f.write(ctx, nil, r, e.Partitions); err != nil {
			return stream.Epoch{}, err
		}
		if err := r.tally.verdict(); err != nil {
			return stream.Epoch{}, err
		}
		r.tally = f.tally(e.Full, false)
	}
	w, err := f.publisher.Begin(ctx, e)
	if err != nil {
		return stream.Epoch{}, err
	}
	defer w.Abort()
	if err := f.write(ctx, w, r, e.Partitions); err != nil {
		return stream.Epoch{}, err
	}
	if err := r.tally.verdict(); err != nil {
		return stream.Epoch{}, err
	}
	return w.Commit(ctx)
}

// opener opens the consumer's table in a pinned snapshot.
type opener func(*checkpoint.Pin) (view, error)

// baseTable gives what the epoch is relative to and notes it in e; nil, and a full epoch, when there is nothing to be relative to.
func (f *Feed) baseTable(ctx context.Context, open opener, next *checkpoint.Table, e *stream.Epoch) differ.Table {
	last, ok := f.publisher.Last()
	if !ok || f.base == nil {
		e.Full = true
	}
	if e.Full {
		return nil
	}
	base, err := open(f.base)
	reason := ""
	switch {
	case err != nil:
		reason = err.Error()
	case base.missing != nil:
		reason = base.missing.Error()
	case last.Rows == nil:
		reason = "the last epoch does not say how many rows it left, which tells how many a step may delete"
	case base.MaxParallelism() != next.MaxParallelism():
		reason = fmt.Sprintf("max parallelism changed from %d to %d", base.MaxParallelism(), next.MaxParallelism())
	case !base.SameKeys(next):
		reason = "the serializer of the keys changed"
	case last.Operator != e.Operator || last.State != e.State:
		reason = fmt.Sprintf("the consumer mirrored state %s of operator %s until now", last.State, last.Operator)
	case !continues(last.Columns, e.Columns, f.consumer.Columns != nil):
		reason = "the columns changed"
	default:
		r := ref(f.base.Found)
		e.Base = &r
		return base.Table
	}
	f.log.WarnContext(ctx, "no diff against the last published snapshot, so this epoch is a full one", "reason", reason)
	e.Full = true
	return nil
}

// continues says whether rows written with the old columns need no rewriting under the new ones. Columns that come from the schema may
// grow, since a field that was added is null in every row that has not changed; columns that the user named may not.
func continues(old, now []stream.Column, named bool) bool {
	if named && len(old) != len(now) {
		return false
	}
	for _, c := range old {
		i := slices.IndexFunc(now, func(n stream.Column) bool { return n.Name == c.Name })
		if i < 0 || now[i].Key != c.Key || named && now[i].Type != c.Type && (now[i].Type == "string" || c.Type == "string") { // another spelling
			return false
		}
	}
	return !slices.ContainsFunc(now[min(len(old), len(now)):], func(c stream.Column) bool { return c.Key })
}

// Project gives the columns that a consumer makes of a state, and what they are called on the wire.
func (c Consumer) Project(s *state.Schema) (columns []state.Column, wire []stream.Column, err error) {
	columns = state.DefaultColumns(s)
	if c.Columns != nil {
		columns, err = state.ParseColumns(s, c.Columns)
	}
	return columns, streamColumns(columns), err
}

func streamColumns(columns []state.Column) []stream.Column {
	var out []stream.Column
	for _, c := range columns {
		out = append(out, stream.Column{Name: c.Name, Type: c.Type.ColumnType(), Key: c.Key})
	}
	return out
}

func ref(f checkpoint.Found) stream.SnapshotRef {
	return stream.SnapshotRef{Job: f.Job, CheckpointID: f.ID, Location: f.Location}
}

// writersAtOnce bounds the partitions that are diffed side by side.
const writersAtOnce = 4

// write publishes the changes of all partitions, each in order, for as long as the tally is open.
func (f *Feed) write(ctx context.Context, w *stream.Writer, r rows, partitions int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for i := range partitions {
		g.Go(func() error { return f.writePartition(ctx, w, r, i, partitions) })
	}
	return g.Wait()
}

func (f *Feed) writePartition(ctx context.Context, w *stream.Writer, r rows, i, n int) error {
	groups := checkpoint.Partition(i, n, r.next.MaxParallelism())
	project := state.NewProjection(r.columns)
	options := differ.Options{TempDir: f.options.Snapshot.TempDir, Memory: f.options.Snapshot.Memory}
	var bufs [3][]byte
	for c, err := range differ.Diff(ctx, r.base, r.next, groups, options) {
		if err != nil {
			return err
		}
		if !r.tally.pass(c.Op) {
			continue
		}
		change := stream.Change{Op: byte(c.Op), Partition: i}
		if change.Key, err = project.AppendKey(bufs[0][:0], c.Row()); err != nil {
			return err
		}
		bufs[0] = change.Key
		if c.Before != nil {
			if change.Before, err = project.AppendRow(bufs[1][:0], c.Before); err != nil {
				return err
			}
			bufs[1] = change.Before
		}
		if c.After != nil {
			if change.After, err = project.AppendRow(bufs[2][:0], c.After); err != nil {
				return err
			}
			bufs[2] = change.After
		}
		if err := w.Append(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// awaitSinks waits until the slowest sink is no more than maxAhead epochs behind, so that a sink that is down for long makes the history coarser
// and not the stream endless.
func (f *Feed) awaitSinks(ctx context.Context) error {
	for logged := false; ; logged = true {
		last, ok := f.publisher.Last()
		if !ok || len(f.consumer.Sinks) == 0 {
			return nil
		}
		applied, err := f.applied(ctx, last.Chain, false)
		if err != nil || applied+maxAhead >= last.Number {
			return err
		}
		if _, resync, err := f.registry.Resync(ctx, f.consumer.Name); err != nil || resync {
			return err
		}
		if !logged {
			f.log.WarnContext(ctx, "waiting for the slowest sink", "epoch", last.Number, "applied", applied)
		}
		if wait(ctx, f.watch.Poll); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// applied is the newest epoch that every sink has applied: those configured here, and with others also those of other processes. One of
// these that has not moved for as long as epochs are kept is taken for removed; should it come back, it gets a full epoch.
func (f *Feed) applied(ctx context.Context, chain string, others bool) (uint64, error) {
	positions, err := f.registry.Positions(ctx, f.consumer.Name)
	if err != nil {
		return 0, err
	}
	seen := map[string]uint64{}
	for _, name := range f.consumer.Sinks {
		seen[name] = 0
	}
	for _, p := range positions {
		if _, ours := seen[p.Sink]; !ours && (!others || time.Since(p.Time) > f.options.Keep) {
			continue
		}
		if seen[p.Sink] = 0; p.Chain == chain {
			seen[p.Sink] = p.Epoch
		}
	}
	least := ^uint64(0)
	for _, n := range seen {
		least = min(least, n)
	}
	return least, nil
}

// trim deletes epochs that every sink has applied and that are old enough.
func (f *Feed) trim(ctx context.Context) error {
	last, ok := f.publisher.Last()
	if !ok || len(f.published) == 0 || time.Since(f.published[0].time) < f.options.Keep {
		return nil
	}
	applied, err := f.applied(ctx, last.Chain, true)
	if err != nil {
		return err
	}
	n := 0
	for n < len(f.published) && f.published[n].number <= applied && time.Since(f.published[n].time) >= f.options.Keep {
		n++
	}
	if n == 0 {
		return nil
	}
	upTo := f.published[n-1].number
	f.published = f.published[n:]
	return f.source.Trim(ctx, f.consumer.Name, upTo)
}
