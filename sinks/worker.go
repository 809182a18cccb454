package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// Source is what a Worker asks of a stream.
type Source interface {
	// Next waits for the epoch that follows the position; stream.ErrResync when none does and no full epoch is at hand.
	Next(ctx context.Context, consumer, chain string, after uint64) (stream.Epoch, error)
	// Head gives the newest epoch of a consumer, if there is any.
	Head(ctx context.Context, consumer string) (stream.Epoch, bool, error)
	Changes(ctx context.Context, e stream.Epoch) iter.Seq2[[]stream.Change, error]
}

// Registry is what a Worker tells the others.
type Registry interface {
	// SetPosition says where a sink stands; what every sink has passed may be trimmed.
	SetPosition(ctx context.Context, p registry.Position) error
	// RequestResync asks the publisher of a consumer for a full epoch.
	RequestResync(ctx context.Context, q registry.Resync) error
}

// Options tune a Worker; the zero value works.
type Options struct {
	Recheck time.Duration   // how often an idle Worker looks whether its target is still as it left it; 0: 30 s
	Answer  time.Duration   // how long a target without rows waits for the full epoch that it asks for, before it makes do with an old one; 0: 10 s
	Drain   time.Duration   // how long an epoch in flight may go on after Run's context ended; 0: 5 s
	MinWait time.Duration   // first pause after a failure; 0: 100 ms
	MaxWait time.Duration   // longest pause; 0: 30 s
	Letters Letters         // takes rows that the target can't hold; nil: such a row refuses its epoch
	Commits func(Committed) // called after each commit, from the Worker's goroutine
}

// Committed tells of one epoch that a sink has taken.
type Committed struct {
	Consumer, Sink string
	Epoch          stream.Epoch
	Took           time.Duration     // from reading the record to the commit
	Lag            time.Duration     // from publishing to the commit
	FastForward    bool              // the rows were there already, just the position moved
	Replaced       map[string]uint64 // values that the target could not hold and for which others stand in, by column
	Dead           int               // rows that the target could not hold and that are dead letters
}

// Worker keeps one table of one sink equal to the newest epoch of a consumer.
type Worker struct {
	name     string
	table    Table
	sink     Sink
	source   Source
	registry Registry
	log      *slog.Logger
	options  Options
	prepared []stream.Column
	held     stream.Epoch // committed last, by this Worker
	wanted   *want        // nil when no full epoch is waited for
	lost     bool         // it has been told that the target has lost its rows
	idle     bool         // nothing was published for a while
	progress progress
}

// NewWorker makes the Worker of the sink called name for a consumer of a source.
func NewWorker(name string, sink Sink, t Table, source Source, registry Registry, log *slog.Logger, o Options) *Worker {
	o.Recheck = orDefault(o.Recheck, 30*time.Second)
	o.Answer = orDefault(o.Answer, 10*time.Second)
	o.Drain = orDefault(o.Drain, 5*time.Second)
	o.MinWait = orDefault(o.MinWait, 100*time.Millisecond)
	o.MaxWait = orDefault(o.MaxWait, 30*time.Second)
	log = log.With("sink", name, "consumer", t.Consumer, "source", t.Source)
	return &Worker{name: name, table: t, sink: sink, source: source, registry: registry, log: log, options: o, progress: newProgress()}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Run follows the consumer until ctx ends, which gives nil, or until an error that no retry can mend.
// An epoch in flight when ctx ends gets a while to finish; one that does not is rolled back and comes again. Run may be called again
// after it has returned.
func (w *Worker) Run(ctx context.Context) error {
	hold, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(w.options.Drain, cancel) })()
	w.progress.begin()
	err := w.follow(ctx, hold)
	w.progress.end(err)
	return err
}

func (w *Worker) follow(ctx, hold context.Context) error {
	pause := w.pauses()
	for ctx.Err() == nil {
		err := w.step(ctx, hold)
		var permanent *PermanentError
		switch {
		case err == nil:
			pause.Reset()
			continue
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &permanent):
			return fmt.Errorf("sink %q: consumer %q: %w", w.name, w.table.Consumer, err)
		case errors.Is(err, stream.ErrResync):
			err = w.resync(ctx, err)
		}
		d, level := pause.NextBackOff(), slog.LevelWarn
		if errors.Is(err, ErrFenced) { // a worker of another process was quicker, which is no fault
			level = slog.LevelDebug
		}
		w.log.Log(ctx, level, "sink waits before it tries again", "error", err, "wait", d)
		w.progress.fail(err)
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return nil
}

func (w *Worker) pauses() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(w.options.MinWait), backoff.WithMaxInterval(w.options.MaxWait), backoff.WithMaxElapsedTime(0))
}

// step takes the target one epoch further, or returns when there is none for a while.
func (w *Worker) step(ctx, hold context.Context) error {
	from, err := w.sink.Position(ctx, w.table)
	if err != nil {
		return fmt.Errorf("reading the position: %w", err)
	}
	w.noteLoss(ctx, from)
	if err := w.report(ctx, from); err != nil {
		return err
	}
	idle, cancel := context.WithTimeout(ctx, w.options.Recheck)
	defer cancel()
	to, err := w.next(idle, from)
	if err != nil {
		if idle.Err() != nil {
			w.idle = true
			return nil // nothing new: look at the target again
		}
		return fmt.Errorf("after epoch %d: %w", from.Epoch, err)
	}
	for {
		if err = w.take(hold, from, to); err == nil {
			return nil
		}
		err = fmt.Errorf("epoch %d: %w", to.Number, err)
		newer, ok := w.passOver(ctx, to, err)
		if !ok {
			return err
		}
		to = newer
	}
}

func (w *Worker) take(ctx context.Context, from Position, to stream.Epoch) error {
	if err := w.prepare(ctx, to); err != nil {
		return err
	}
	return w.apply(ctx, from, to)
}

// noteLoss tells once of a target that stood somewhere and now has no position.
func (w *Worker) noteLoss(ctx context.Context, at Position) {
	before, _ := w.Status()
	switch {
	case at.Chain != "":
		w.lost = false
	case !w.lost && (at.Revision > 0 || before.Chain != ""):
		w.lost, w.prepared = true, nil
		w.log.WarnContext(ctx, "the target has lost its rows or its position and needs a full epoch", "reason", cmp.Or(at.Lost, PositionGone), "epoch_before", before.Epoch)
	}
}

// report publishes a position once. One that was lost is nobody's business but the next full epoch's.
func (w *Worker) report(ctx context.Context, at Position) error {
	if !w.progress.moves(at) {
		return nil
	}
	if at.Chain != "" {
		p := registry.Position{Consumer: w.table.Consumer, Sink: w.name, Chain: at.Chain, Epoch: at.Epoch, Time: time.Now()}
		if err := w.registry.SetPosition(ctx, p); err != nil {
			return fmt.Errorf("recording the position: %w", err)
		}
	}
	w.progress.reach(at)
	return nil
}

// prepare runs when the columns differ from the last epoch's, and after an error.
func (w *Worker) prepare(ctx context.Context, to stream.Epoch) error {
	if w.prepared != nil && slices.Equal(w.prepared, to.Columns) {
		return nil
	}
	w.table.Columns, w.prepared = to.Columns, nil
	if err := w.sink.Prepare(ctx, w.table); err != nil {
		return err
	}
	w.prepared = slices.Clone(to.Columns)
	return nil
}

func (w *Worker) apply(ctx context.Context, from Position, to stream.Epoch) (err error) {
	began := time.Now()
	dead, err := w.newDead(ctx, to)
	if err != nil {
		return err
	}
	forward := w.skips(from, to) && !dead.any() // a row may fit by now
	if forward {
		to.Full, to.Counts = false, stream.Counts{}
	}
	table := w.table
	if dead != nil {
		table.Refused, to.Rows = dead.refused, cloned(to.Rows)
	}
	tx, err := w.sink.Begin(ctx, table, from, to)
	if err == nil {
		err = w.fill(ctx, tx, to, forward, dead)
	}
	if err != nil {
		w.prepared = nil // the table may have changed under us
		return err
	}
	dead.forget(ctx)
	w.held, w.wanted = to, nil
	w.committed(ctx, Committed{
		Consumer: w.table.Consumer, Sink: w.name, Epoch: to,
		Took: time.Since(began), Lag: time.Since(to.Time), FastForward: forward, Replaced: replaced(tx), Dead: dead.count(),
	})
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
func (w *Worker) skips(from Position, to stream.Epoch) bool {
	return to.Full && to.Resync && from.Chain == to.Chain && from.Epoch+1 == to.Number && from.Snapshot == to.Snapshot &&
		w.held.Chain == from.Chain && w.held.Number == from.Epoch && slices.Equal(w.held.Columns, to.Columns)
}

// fill applies and commits, or rolls back.
func (w *Worker) fill(ctx context.Context, tx Transaction, to stream.Epoch, forward bool, dead *dead) (err error) {
	defer func() {
		if err == nil {
			return
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.options.Drain)
		defer cancel()
		if e := tx.Rollback(end); e != nil {
			w.log.WarnContext(ctx, "rollback failed; the target drops the transaction with its connection", "error", e)
		}
	}()
	if !forward {
		for changes, err := range w.source.Changes(ctx, to) {
			if err == nil {
				dead.see(changes)
				err = tx.Apply(ctx, changes)
			}
			if err != nil {
				return err
			}
		}
	}
	dead.less(to.Rows) // of which the transaction knows
	return tx.Commit(ctx)
}

func (w *Worker) committed(ctx context.Context, c Committed) {
	log, level := w.log, slog.LevelInfo
	if len(c.Replaced) > 0 {
		log, level = log.With("replaced", c.Replaced), slog.LevelWarn
	}
	if c.Dead > 0 {
		log, level = log.With("dead_letters", c.Dead), slog.LevelWarn
	}
	log.Log(ctx, level, "epoch committed", "epoch", c.Epoch.Number, "checkpoint_id", c.Epoch.Snapshot.CheckpointID,
		"full", c.Epoch.Full, "fast_forward", c.FastForward, "counts", c.Epoch.Counts, "took", c.Took, "lag", c.Lag)
	if w.options.Commits != nil {
		w.options.Commits(c)
	}
}
