package sinks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
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
	// RestorePosition is SetPosition where none is known.
	RestorePosition(ctx context.Context, p registry.Position) error
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

	began time.Time
}

// Worker keeps tables of one sink equal to the newest epochs of their consumers. Most have one table; those of several are led to the same step, all at once.
type Worker struct {
	name     string
	sink     Sink
	source   Source
	registry Registry
	log      *slog.Logger
	options  Options
	tables   []*target // in the order in which they are locked
	progress progress
	waited   uint64 // for a step that all tables have, with the newest one that some have
}

// target is one table of a Worker.
type target struct {
	worker   *Worker
	index    int // among the Worker's tables
	table    Table
	log      *slog.Logger
	prepared []stream.Column
	held     stream.Epoch // committed last, by this Worker
	wanted   *want        // nil when no full epoch is waited for
	lost     bool         // it has been told that the target has lost its rows
	idle     bool         // nothing was published for a while
}

// NewWorker makes the Worker of the sink called name for consumers of a source. For more than one, the sink's transactions must be Joint.
func NewWorker(name string, sink Sink, tables []Table, source Source, registry Registry, log *slog.Logger, o Options) *Worker {
	o.Recheck = orDefault(o.Recheck, 30*time.Second)
	o.Answer = orDefault(o.Answer, 10*time.Second)
	o.Drain = orDefault(o.Drain, 5*time.Second)
	o.MinWait = orDefault(o.MinWait, 100*time.Millisecond)
	o.MaxWait = orDefault(o.MaxWait, 30*time.Second)
	w := &Worker{name: name, sink: sink, source: source, registry: registry, options: o, progress: newProgress(len(tables))}
	var names []string
	for i, t := range slices.SortedFunc(slices.Values(tables), func(a, b Table) int { return strings.Compare(a.Consumer, b.Consumer) }) {
		w.tables = append(w.tables, &target{worker: w, index: i, table: t, log: log.With("sink", name, "consumer", t.Consumer, "source", t.Source)})
		names = append(names, t.Consumer)
	}
	w.log = log.With("sink", name, "consumer", strings.Join(names, ", "), "source", tables[0].Source)
	return w
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Run follows the consumers until ctx ends, which gives nil, or until an error that no retry can mend.
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
			return fmt.Errorf("sink %q: %w", w.name, err)
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

// step takes the tables one step further, or returns when there is none for a while.
func (w *Worker) step(ctx, hold context.Context) error {
	moves := make([]*move, len(w.tables))
	for i, t := range w.tables {
		from, err := t.position(ctx)
		if err != nil {
			return t.wrap(err)
		}
		moves[i] = &move{target: t, from: from}
	}
	idle, cancel := context.WithTimeout(ctx, w.options.Recheck)
	defer cancel()
	if err := w.choose(idle, moves); err != nil {
		if idle.Err() == nil {
			return err
		}
		for _, t := range w.tables { // nothing new: look at the target again
			t.idle = true
		}
		w.progress.rest()
		return nil
	}
	w.progress.resume()
	for {
		err := w.take(hold, moves)
		if err == nil {
			return nil
		}
		if passed, e := w.passOver(ctx, moves, err); !passed {
			return e
		}
	}
}

// take applies what was chosen.
func (w *Worker) take(ctx context.Context, moves []*move) error {
	err := w.prepare(ctx, moves)
	if err == nil {
		err = w.apply(ctx, slices.DeleteFunc(slices.Clone(moves), (*move).stays))
	}
	if one := new(targetError); errors.As(err, &one) && errors.Is(err, stream.ErrResync) {
		err = one.wrap(one.resync(ctx, one.err))
	}
	return err
}

// passOver looks for full epochs behind one that a target refuses.
func (w *Worker) passOver(ctx context.Context, moves []*move, cause error) (bool, error) {
	one := new(targetError)
	if !errors.As(cause, &one) {
		return false, cause
	}
	m := moves[one.index]
	newer, ok := one.passOver(ctx, m.to(), cause)
	if !ok {
		return false, cause
	}
	m.way = []stream.Epoch{newer}
	look, cancel := context.WithTimeout(ctx, w.options.Recheck)
	defer cancel()
	if err := w.align(look, moves); err != nil {
		return false, cause
	}
	return true, nil
}
