package sinks

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/stream"
)

// move is what a Worker is about to do with one table.
type move struct {
	*target
	from Position
	way  []stream.Epoch // from there; more than one where a step was not published of every table
	dead *dead
	done []Committed
}

// to is the epoch that it ends with.
func (m *move) to() stream.Epoch { return m.way[len(m.way)-1] }

// choose waits until every table can be led to the same step.
func (w *Worker) choose(ctx context.Context, moves []*move) error {
	g, gctx := errgroup.WithContext(ctx) // side by side: one that has lost its rows has to ask for them while there is nothing new for others
	for _, m := range moves {
		g.Go(func() error {
			to, err := m.next(gctx, m.from)
			if errors.Is(err, stream.ErrResync) {
				err = m.resync(ctx, err)
			}
			if err != nil {
				return m.wrap(fmt.Errorf("after epoch %d: %w", m.from.Epoch, err))
			}
			m.way = []stream.Epoch{to}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return w.align(ctx, moves)
}

// align lengthens the ways until all of them end with the same step, the first one that all tables have. Of one table that is any.
func (w *Worker) align(ctx context.Context, moves []*move) error {
	for {
		late := behind(moves)
		if len(late) == 0 {
			return nil
		}
		for _, m := range late {
			at := m.to()
			to, err := w.source.Next(ctx, at.Consumer, at.Chain, at.Number)
			switch {
			case ctx.Err() != nil:
				w.tellWait(ctx, m, moves)
				return ctx.Err()
			case errors.Is(err, stream.ErrResync):
				err = m.resync(ctx, err)
			}
			if err != nil {
				return m.wrap(err)
			}
			if to.Full {
				m.way = nil
			}
			m.way = append(m.way, to)
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
