package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
)

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
