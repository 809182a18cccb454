package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// want is a request for a full epoch. Any that is newer than the newest epoch of that time answers it.
type want struct {
	chain  string
	number uint64
	until  time.Time
	given  bool // up
}

var errUnanswered = errors.New("nobody has published the full epoch that was asked for")

// next waits for what continues from a position. A delta against another snapshot than the target holds means that the server lost what it had
// acknowledged and that its numbers were given out again; then only a full epoch will do.
func (w *Worker) next(ctx context.Context, from Position) (stream.Epoch, error) {
	if from.Chain == "" {
		return w.full(ctx, from, cmp.Or(from.Lost, PositionGone))
	}
	if w.idle {
		other, err := w.otherHead(ctx, from)
		if err != nil {
			return stream.Epoch{}, err
		}
		if w.idle = false; other {
			return w.full(ctx, from, "the number of the epoch that the target holds was given out again")
		}
	}
	to, err := w.source.Next(ctx, w.table.Consumer, from.Chain, from.Epoch)
	if err != nil || to.Full || to.Base == nil || *to.Base == from.Snapshot {
		w.wanted = nil
		return to, err
	}
	if w.wanted == nil {
		w.log.ErrorContext(ctx, "the next epoch is relative to a snapshot that the target does not hold", "epoch", to.Number,
			"base", to.Base.CheckpointID, "held", from.Snapshot.CheckpointID)
	}
	return w.full(ctx, from, "the next epoch is relative to a snapshot that the target does not hold")
}

// otherHead says whether the newest epoch has the target's number and is not the one that the target took. That is so when the server lost the end of what it had
// acknowledged and nothing has followed yet that would show it: the job may have ended.
func (w *Worker) otherHead(ctx context.Context, from Position) (bool, error) {
	head, ok, err := w.source.Head(ctx, w.table.Consumer)
	return ok && head.Chain == from.Chain && head.Number == from.Epoch && head.Snapshot != from.Snapshot, err
}

// full gives a full epoch to start from. One with deltas behind it would take readers back in time, to live through all of them once more. So a new
// one is asked for, and the old one serves only if nobody answers.
func (w *Worker) full(ctx context.Context, from Position, reason string) (stream.Epoch, error) {
	if w.wanted == nil {
		head, ok, err := w.source.Head(ctx, w.table.Consumer)
		if err != nil {
			return stream.Epoch{}, err
		}
		if !ok || head.Full {
			return w.source.Next(ctx, w.table.Consumer, "", 0)
		}
		if err := w.request(ctx, reason); err != nil {
			return stream.Epoch{}, err
		}
		w.log.InfoContext(ctx, "a full epoch is asked for", "reason", reason, "newest", head.Number)
		w.wanted = &want{chain: head.Chain, number: head.Number, until: time.Now().Add(w.options.Answer)}
	}
	to, err := w.answer(ctx)
	if errors.Is(err, errUnanswered) {
		return w.oldest(ctx, from)
	}
	return to, err
}

// answer waits for a full epoch behind the newest one of the time when it was asked for; deltas may have followed it.
func (w *Worker) answer(ctx context.Context) (stream.Epoch, error) {
	wait, cancel := context.WithDeadline(ctx, w.wanted.until)
	defer cancel()
	for at := (stream.Epoch{Chain: w.wanted.chain, Number: w.wanted.number}); ; {
		to, err := w.source.Next(wait, w.table.Consumer, at.Chain, at.Number)
		switch {
		case err == nil && to.Full:
			return to, nil
		case err == nil:
			at = to
		case ctx.Err() == nil && wait.Err() != nil:
			return stream.Epoch{}, errUnanswered
		default:
			return stream.Epoch{}, err
		}
	}
}

// oldest gives the full epoch that the stream still has, unless the target is past it.
func (w *Worker) oldest(ctx context.Context, from Position) (stream.Epoch, error) {
	to, err := w.source.Next(ctx, w.table.Consumer, "", 0)
	if err == nil && to.Chain == from.Chain && to.Number <= from.Epoch {
		return stream.Epoch{}, fmt.Errorf("%w: %w", errUnanswered, stream.ErrResync)
	}
	if err == nil && !w.wanted.given {
		w.wanted.given = true
		w.log.WarnContext(ctx, "the target is built up from an old full epoch", "reason", errUnanswered, "epoch", to.Number, "waited", w.options.Answer)
	}
	return to, err
}

// passOver gives the full epoch that makes one unnecessary which the target refuses for good: a config that was wrong for a while has been put
// right, or the rows at fault are gone. It is newer each time, so this ends.
func (w *Worker) passOver(ctx context.Context, refused stream.Epoch, cause error) (stream.Epoch, bool) {
	var permanent *PermanentError
	if !errors.As(cause, &permanent) {
		return stream.Epoch{}, false
	}
	newer := func(number uint64, chain string) bool { return number > refused.Number || chain != refused.Chain }
	look, cancel := context.WithTimeout(ctx, w.options.Recheck)
	defer cancel()
	head, ok, err := w.source.Head(look, w.table.Consumer)
	if err != nil || !ok || !newer(head.Start, head.Chain) {
		return stream.Epoch{}, false
	}
	to, err := w.source.Next(look, w.table.Consumer, "", 0)
	if err != nil || !newer(to.Number, to.Chain) {
		return stream.Epoch{}, false
	}
	w.log.WarnContext(ctx, "the target refuses an epoch, so all up to a newer full one are passed over", "error", cause, "refused", refused.Number, "epoch", to.Number)
	return to, true
}

// resync asks for a full epoch; the loop then finds it by itself.
func (w *Worker) resync(ctx context.Context, cause error) error {
	if err := w.request(ctx, cause.Error()); err != nil {
		return err
	}
	return fmt.Errorf("a full epoch is asked for: %w", cause)
}

func (w *Worker) request(ctx context.Context, reason string) error {
	at, _ := w.Status()
	q := registry.Resync{Consumer: w.table.Consumer, Sink: w.name, Reason: reason, Chain: at.Chain, After: at.Epoch, Time: time.Now()}
	if err := w.registry.RequestResync(ctx, q); err != nil {
		return fmt.Errorf("asking for a full epoch: %w", err)
	}
	return nil
}
