package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/stream"
)

// move is what a Worker is about to do with one table.
type move struct {
	*target
	from   Position
	stands stream.Epoch   // at from; known if no newer one is published
	way    []stream.Epoch // from there; more than one where a step was not published of every table, none where the table stays
	dead   *dead
	done   []Committed
}

func (m *move) stays() bool { return len(m.way) == 0 }

// to is the epoch that it ends with.
func (m *move) to() stream.Epoch {
	if m.stays() {
		return m.stands
	}
	return m.way[len(m.way)-1]
}

// choose waits until every table can be led to the same step. That may be the one at which some stand already, when others have lost their rows or were left
// behind; these come there alone.
func (w *Worker) choose(ctx context.Context, moves []*move) error {
	if err := each(ctx, moves, (*move).begin); err != nil {
		return err
	}
	if !slices.ContainsFunc(moves, func(m *move) bool { return !m.stays() }) && len(behind(moves)) == 0 {
		if err := each(ctx, moves, (*move).lengthen); err != nil {
			return err
		}
	}
	return w.align(ctx, moves)
}

// each does something with all tables side by side: one that has lost its rows has to ask for them while there is nothing new for others.
func each(ctx context.Context, moves []*move, do func(*move, context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range moves {
		g.Go(func() error { return do(m, ctx) })
	}
	return g.Wait()
}

// begin finds the first epoch of the way, unless the table has company and stands at the newest one: it will be seen whether the others come there.
func (m *move) begin(ctx context.Context) error {
	if len(m.worker.tables) > 1 {
		head, ok, err := m.atHead(ctx, m.from)
		if err != nil || ok {
			m.stands = head
			return m.wrap(err)
		}
	}
	return m.lengthen(ctx)
}

// lengthen waits for one more epoch.
func (m *move) lengthen(ctx context.Context) error {
	var to stream.Epoch
	var err error
	after := m.from.Epoch
	if m.stays() {
		to, err = m.next(ctx, m.from)
	} else {
		after = m.to().Number
		to, err = m.worker.source.Next(ctx, m.table.Consumer, m.to().Chain, after)
	}
	if errors.Is(err, stream.ErrResync) && ctx.Err() == nil {
		err = m.resync(ctx, err)
	}
	if err != nil {
		return m.wrap(fmt.Errorf("after epoch %d: %w", after, err))
	}
	if to.Full {
		m.way = nil
	}
	m.way = append(m.way, to)
	return nil
}

// align lengthens the ways until all of them end with the same step, the first one that all tables have. Of one table that is any.
func (w *Worker) align(ctx context.Context, moves []*move) error {
	for {
		late := behind(moves)
		if len(late) == 0 {
			return nil
		}
		for _, m := range late {
			err := m.lengthen(ctx)
			if ctx.Err() != nil {
				w.tellWait(ctx, m, moves)
				return ctx.Err()
			}
			if err != nil {
				return err
			}
		}
	}
}

// behind gives the moves that end with an older step than others do; all of them where several have the same number and are not the same.
func behind(moves []*move) (late []*move) {
	newest, same := uint64(0), true
	for _, m := range moves {
		newest = max(newest, m.to().Step)
		same = same && m.to().SameStep(moves[0].to())
	}
	if same {
		return nil
	}
	for _, m := range moves {
		if m.to().Step < newest {
			late = append(late, m)
		}
	}
	if late == nil {
		return moves
	}
	return late
}

// tellWait says, once for each step, that a table lacks it which others have.
func (w *Worker) tellWait(ctx context.Context, late *move, moves []*move) {
	newest := uint64(0)
	for _, m := range moves {
		newest = max(newest, m.to().Step)
	}
	if newest == w.waited {
		return
	}
	w.waited = newest
	late.log.WarnContext(ctx, "tables that change together wait for one whose epoch is missing; every process that publishes must have the same sinks with atomic: source",
		"epoch", late.to().Number, "checkpoint_id", late.to().Snapshot.CheckpointID, "step", late.to().Step, "waited_for_step", newest)
}
