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

// move is what a step makes of one consumer.
type move struct {
	*member
	pin      *checkpoint.Pin // of the snapshot that it leads to
	epoch    stream.Epoch
	rows     rows
	accepted bool // any number of rows may go
	held     *registry.Question
	counted  bool
	opened   []*checkpoint.Snapshot
	writer   *stream.Writer
}

// rows is what the rows of an epoch come from.
type rows struct {
	base      differ.Table      // nil: every row of next
	next      *checkpoint.Table // nil: none
	columns   []state.Column
	unchanged bool // base and next are one
}

// errHeld says that consumers have questions, which are in their moves.
var errHeld = errors.New("held")

// write stores the epochs of all consumers, up to their commit. With an error it leaves attempts that nobody applies.
func (f *Feed) write(ctx context.Context, pins []*checkpoint.Pin) (moves []*move, err error) {
	step := uint64(0)
	for _, m := range f.members {
		step = max(step, m.publisher.Step()+1)
	}
	for i, m := range f.members {
		v := &move{member: m, pin: pins[i], epoch: stream.Epoch{Snapshot: ref(pins[i].Found), Step: step}}
		moves = append(moves, v)
	}
	for _, v := range moves {
		if err := v.hold(v.plan(ctx)); err != nil {
			return moves, v.wrap(err)
		}
	}
	if f.waits() || held(moves) { // there may be a new snapshot every second, each to be refused again, so nothing is written yet
		for _, v := range moves {
			if err := v.hold(v.count(ctx)); err != nil {
				return moves, v.wrap(err)
			}
		}
	}
	for _, v := range moves {
		do := v.store
		if held(moves) {
			do = v.count
		}
		if err := v.hold(do(ctx)); err != nil {
			return moves, v.wrap(err)
		}
	}
	if held(moves) {
		return moves, errHeld
	}
	return moves, nil
}

func held(moves []*move) bool {
	return slices.ContainsFunc(moves, func(v *move) bool { return v.held != nil })
}

// hold notes a question.
func (v *move) hold(err error) error {
	if held := new(HeldError); errors.As(err, &held) {
		v.held = &held.Question
		return nil
	}
	return err
}

// commit publishes what is written.
func (f *Feed) commit(ctx context.Context, moves []*move) (err error) {
	for _, v := range moves {
		if v.epoch, err = v.writer.Commit(ctx); err != nil {
			return v.wrap(err)
		}
	}
	return nil
}

func (v *move) close() {
	if v.writer != nil {
		v.writer.Abort()
	}
	for _, s := range v.opened {
		s.Close()
	}
}

func (v *move) open(ctx context.Context, pin *checkpoint.Pin) (view, error) {
	snap, err := pin.Open(ctx, v.snapshotOptions())
	if err != nil {
		return view{}, err
	}
	v.opened = append(v.opened, snap)
	return v.find(ctx, snap)
}

// plan finds out what the epoch is to hold.
func (v *move) plan(ctx context.Context) error {
	next, err := v.open(ctx, v.pin)
	if err != nil {
		return err
	}
	held := new(HeldError)
	err = v.doubt(next, func() (view, error) { return v.open(ctx, v.base) })
	doubted := errors.As(err, &held) && v.answered(held.Kind)
	if err != nil && !doubted {
		return err
	}
	v.accepted = doubted || v.answered(registry.ManyDeletes)
	e := &v.epoch
	e.Full, e.Resync = v.request != nil, v.request != nil
	if next.Table == nil { // all rows go
		last, _ := v.publisher.Last()
		e.Full, e.Columns, e.Partitions, e.Operator, e.State = true, last.Columns, last.Partitions, v.consumer.Operator, v.consumer.State
		return nil
	}
	if v.rows.columns, e.Columns, err = v.consumer.Project(next.Schema()); err != nil {
		return fault.Unsupported(v.pin.Location, -1, "consumer %s: %v", v.consumer.Name, err)
	}
	e.Partitions, e.Operator, e.State = min(v.feed.options.Partitions, next.MaxParallelism()), next.Operator.String(), next.Name
	v.rows.next = next.Table
	v.rows.base = v.baseTable(ctx, next.Table)
	v.rows.unchanged = v.rows.base != nil && v.pin == v.base
	return nil
}

// count looks how many rows would go, and writes none.
func (v *move) count(ctx context.Context) error {
	if v.counted || v.held != nil {
		return nil
	}
	v.counted = true
	t := v.tally(v.epoch.Full, v.accepted)
	t.closed.Store(true)
	if err := v.writeRows(ctx, t); err != nil {
		return err
	}
	return t.verdict()
}

// store writes the changes, unless they take away too many rows.
func (v *move) store(ctx context.Context) (err error) {
	if v.writer, err = v.publisher.Begin(ctx, v.epoch); err != nil {
		return err
	}
	t := v.tally(v.epoch.Full, v.accepted)
	if err := v.writeRows(ctx, t); err != nil {
		return err
	}
	if err := t.verdict(); err != nil {
		return err
	}
	return v.writer.Seal(ctx)
}

// baseTable gives what the epoch is relative to and notes it there; nil, and a full epoch, when there is nothing to be relative to.
func (v *move) baseTable(ctx context.Context, next *checkpoint.Table) differ.Table {
	e := &v.epoch
	last, ok := v.publisher.Last()
	if !ok || v.base == nil {
		e.Full = true
	}
	if e.Full {
		return nil
	}
	base, err := v.open(ctx, v.base)
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
	case !continues(last.Columns, e.Columns, v.consumer.Columns != nil):
		reason = "the columns changed"
	default:
		r := ref(v.base.Found)
		e.Base = &r
		return base.Table
	}
	v.log.WarnContext(ctx, "no diff against the last published snapshot, so this epoch is a full one", "reason", reason)
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

// writeRows writes the changes of all partitions, each in order, for as long as the tally is open.
func (v *move) writeRows(ctx context.Context, t *tally) error {
	if v.rows.unchanged || v.rows.next == nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for i := range v.epoch.Partitions {
		g.Go(func() error { return v.writePartition(ctx, t, i) })
	}
	return g.Wait()
}

func (v *move) writePartition(ctx context.Context, t *tally, i int) error {
	r := v.rows
	groups := checkpoint.Partition(i, v.epoch.Partitions, r.next.MaxParallelism())
	project := state.NewProjection(r.columns)
	options := differ.Options{TempDir: v.feed.options.Snapshot.TempDir, Memory: v.feed.options.Snapshot.Memory}
	var bufs [3][]byte
	for c, err := range differ.Diff(ctx, r.base, r.next, groups, options) {
		if err != nil {
			return err
		}
		if !t.pass(c.Op) {
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
		if err := v.writer.Append(ctx, change); err != nil {
			return err
		}
	}
	return nil
}
