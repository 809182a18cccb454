package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// targetError is an error of one table.
type targetError struct {
	*target
	err error
}

func (e *targetError) Error() string { return fmt.Sprintf("consumer %q: %v", e.table.Consumer, e.err) }

// Unwrap gives the error.
func (e *targetError) Unwrap() error { return e.err }

func (t *target) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &targetError{t, err}
}

// position reads where the table stands, and tells the others.
func (t *target) position(ctx context.Context) (Position, error) {
	at, err := t.worker.sink.Position(ctx, t.table)
	if err != nil {
		return at, fmt.Errorf("reading the position: %w", err)
	}
	t.noteLoss(ctx, at)
	if err := t.report(ctx, at); err != nil && !stream.IsFull(err) { // then later: the rows are not to wait for it
		return at, err
	}
	return at, nil
}

// noteLoss tells once of a target that stood somewhere and now has no position.
func (t *target) noteLoss(ctx context.Context, at Position) {
	before := t.worker.progress.position(t.index)
	switch {
	case at.Chain != "":
		t.lost = false
	case !t.lost && (at.Revision > 0 || before.Chain != ""):
		t.lost, t.prepared = true, nil
		say, text := t.log.WarnContext, "the target has lost its rows or its position and needs a full epoch"
		if at.Lost == KeptOtherwise { // as the config now says
			say, text = t.log.InfoContext, "the target's rows are to be kept in another way from now on, which takes a full epoch"
		}
		say(ctx, text, "reason", cmp.Or(at.Lost, PositionGone), "epoch_before", before.Epoch)
	}
}

// report publishes a position once, and after a while in which nothing came makes sure that the registry still has it. One that was lost is nobody's
// business but the next full epoch's.
func (t *target) report(ctx context.Context, at Position) error {
	w, tell := t.worker, t.worker.registry.SetPosition
	before := w.progress.position(t.index)
	known := before.Chain == at.Chain && before.Epoch == at.Epoch
	if known {
		tell = w.registry.RestorePosition
	}
	if at.Chain != "" && (!known || t.idle) {
		p := registry.Position{Consumer: t.table.Consumer, Sink: w.name, Chain: at.Chain, Epoch: at.Epoch, Time: time.Now()}
		if err := tell(ctx, p); err != nil {
			return fmt.Errorf("recording the position: %w", err)
		}
	}
	if !known {
		w.progress.reach(t.index, at)
	}
	return nil
}

// prepare looks at every table before the first of them is changed.
func (w *Worker) prepare(ctx context.Context, moves []*move) error {
	for _, m := range moves {
		for _, to := range m.way {
			if err := m.prepare(ctx, to); err != nil {
				return m.wrap(fmt.Errorf("epoch %d: %w", to.Number, err))
			}
		}
	}
	return nil
}

// prepare runs when the columns differ from the last epoch's, and after an error.
func (t *target) prepare(ctx context.Context, to stream.Epoch) error {
	if t.prepared != nil && slices.Equal(t.prepared, to.Columns) {
		return nil
	}
	t.table.Columns, t.prepared = to.Columns, nil
	if err := t.worker.sink.Prepare(ctx, t.table); err != nil {
		return err
	}
	t.prepared = slices.Clone(to.Columns)
	return nil
}

// apply takes all tables where they are to go, in one transaction.
func (w *Worker) apply(ctx context.Context, moves []*move) (err error) {
	var tx Transaction
	defer func() {
		if err == nil {
			return
		}
		for _, t := range w.tables {
			t.prepared = nil // the table may have changed under us
		}
		if tx != nil {
			w.rollback(ctx, tx)
		}
	}()
	var last *move
	for _, m := range moves {
		if m.dead, err = m.newDead(ctx); err != nil {
			return m.wrap(err)
		}
		m.done = nil
		at := m.from
		for _, to := range m.way {
			if tx != nil {
				if err = last.finish(ctx, tx); err != nil {
					return err
				}
			}
			last = m
			if tx, err = m.apply(ctx, tx, at, to); err != nil {
				return m.wrap(fmt.Errorf("epoch %d: %w", to.Number, err))
			}
			at = Position{Chain: to.Chain, Epoch: to.Number, Snapshot: to.Snapshot, Revision: at.Revision + 1}
		}
	}
	if err = last.ended(tx, tx.Commit(ctx)); err != nil {
		return err
	}
	w.settle(ctx, moves)
	return nil
}

// settle notes what is committed.
func (w *Worker) settle(ctx context.Context, moves []*move) {
	for _, m := range moves {
		m.dead.forget(ctx)
		m.held, m.wanted = m.to(), nil
		for _, c := range m.done {
			m.committed(ctx, c)
		}
	}
}

// apply adds one epoch to a transaction, or begins one with it.
func (m *move) apply(ctx context.Context, tx Transaction, from Position, to stream.Epoch) (Transaction, error) {
	began := time.Now()
	m.dead.begin(to)
	forward := m.skips(from, to) && !m.dead.any() // a row may fit by now
	if forward {
		to.Full, to.Counts = false, stream.Counts{}
	}
	table := m.table
	table.Columns = to.Columns
	if m.dead != nil {
		table.Refused, to.Rows = m.dead.refused, cloned(to.Rows)
	}
	m.done = append(m.done, Committed{Consumer: table.Consumer, Sink: m.worker.name, Epoch: to, FastForward: forward, began: began})
	var err error
	if tx == nil {
		tx, err = m.worker.sink.Begin(ctx, table, from, to)
	} else {
		err = tx.(Joint).Then(ctx, table, from, to) // as it was finished before
	}
	if err == nil && !forward {
		err = m.fill(ctx, tx, to)
	}
	m.dead.less(to.Rows) // of which the transaction knows
	return tx, err
}

// finish ends an epoch behind which another one comes.
func (m *move) finish(ctx context.Context, tx Transaction) error {
	joint, ok := tx.(Joint)
	if !ok {
		return m.wrap(Permanent(errors.New("this kind of sink can't change several tables at once")))
	}
	return m.ended(tx, joint.Finish(ctx))
}

// ended notes what became of the epoch that was applied last.
func (m *move) ended(tx Transaction, err error) error {
	c := &m.done[len(m.done)-1]
	c.Replaced, c.Dead = replaced(tx), m.dead.count()
	if err != nil {
		return m.wrap(fmt.Errorf("epoch %d: %w", c.Epoch.Number, err))
	}
	return nil
}

func cloned(n *uint64) *uint64 {
	if n == nil {
		return nil
	}
	m := *n
	return &m
}

// skips tells whether a full epoch was made for another sink's sake: it repeats the snapshot that this target holds, in the columns that the Worker wrote
// itself. After a start nobody knows which those were.
func (t *target) skips(from Position, to stream.Epoch) bool {
	return to.Full && to.Resync && from.Chain == to.Chain && from.Epoch+1 == to.Number && from.Snapshot == to.Snapshot &&
		t.held.Chain == from.Chain && t.held.Number == from.Epoch && slices.Equal(t.held.Columns, to.Columns)
}

func (m *move) fill(ctx context.Context, tx Transaction, to stream.Epoch) error {
	for changes, err := range m.worker.source.Changes(ctx, to) {
		if err == nil {
			m.dead.see(changes)
			err = tx.Apply(ctx, changes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) rollback(ctx context.Context, tx Transaction) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.options.Drain)
	defer cancel()
	if err := tx.Rollback(end); err != nil {
		w.log.WarnContext(ctx, "rollback failed; the target drops the transaction with its connection", "error", err)
	}
}

func (t *target) committed(ctx context.Context, c Committed) {
	c.Took, c.Lag = time.Since(c.began), time.Since(c.Epoch.Time)
	log, level := t.log, slog.LevelInfo
	if len(c.Replaced) > 0 {
		log, level = log.With("replaced", c.Replaced), slog.LevelWarn
	}
	if c.Dead > 0 {
		log, level = log.With("dead_letters", c.Dead), slog.LevelWarn
	}
	log.Log(ctx, level, "epoch committed", "epoch", c.Epoch.Number, "checkpoint_id", c.Epoch.Snapshot.CheckpointID,
		"full", c.Epoch.Full, "fast_forward", c.FastForward, "counts", c.Epoch.Counts, "took", c.Took, "lag", c.Lag)
	if options := t.worker.options; options.Commits != nil {
		options.Commits(c)
	}
}
