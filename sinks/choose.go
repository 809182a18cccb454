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
func (t *target) next(ctx context.Context, from Position) (stream.Epoch, error) {
	if from.Chain == "" {
		return t.full(ctx, from, cmp.Or(from.Lost, PositionGone))
	}
	if t.idle {
		other, err := t.otherHead(ctx, from)
		if err != nil {
			return stream.Epoch{}, err
		}
		if t.idle = false; other {
			return t.full(ctx, from, "the number of the epoch that the target holds was given out again")
		}
	}
	to, err := t.worker.source.Next(ctx, t.table.Consumer, from.Chain, from.Epoch)
	if err != nil || to.Full || to.Base == nil || *to.Base == from.Snapshot {
		t.wanted = nil
		return to, err
	}
	if t.wanted == nil {
		t.log.ErrorContext(ctx, "the next epoch is relative to a snapshot that the target does not hold", "epoch", to.Number,
			"base", to.Base.CheckpointID, "held", from.Snapshot.CheckpointID)
	}
	return t.full(ctx, from, "the next epoch is relative to a snapshot that the target does not hold")
}

// atHead gives the newest epoch if the target stands at it.
func (t *target) atHead(ctx context.Context, from Position) (stream.Epoch, bool, error) {
	if from.Chain == "" {
		return stream.Epoch{}, false, nil
	}
	head, ok, err := t.worker.source.Head(ctx, t.table.Consumer)
	if err != nil || !ok || head.Chain != from.Chain || head.Number != from.Epoch || head.Snapshot != from.Snapshot {
		return stream.Epoch{}, false, err
	}
	t.wanted, t.idle = nil, false
	return head, true, nil
}

// otherHead says whether the newest epoch has the target's number and is not the one that the target took. That is so when the server lost the end of what it had
// acknowledged and nothing has followed yet that would show it: the job may have ended.
func (t *target) otherHead(ctx context.Context, from Position) (bool, error) {
	head, ok, err := t.worker.source.Head(ctx, t.table.Consumer)
	return ok && head.Chain == from.Chain && head.Number == from.Epoch && head.Snapshot != from.Snapshot, err
}

// full gives a full epoch to start from. One with deltas behind it would take readers back in time, to live through all of them once more. So a new
// one is asked for, and the old one serves only if nobody answers.
func (t *target) full(ctx context.Context, from Position, reason string) (stream.Epoch, error) {
	if t.wanted == nil {
		head, ok, err := t.worker.source.Head(ctx, t.table.Consumer)
		if err != nil {
			return stream.Epoch{}, err
		}
		if !ok || head.Full {
			return t.worker.source.Next(ctx, t.table.Consumer, "", 0)
		}
		if err := t.request(ctx, reason); err != nil {
			return stream.Epoch{}, err
		}
		t.log.InfoContext(ctx, "a full epoch is asked for", "reason", reason, "newest", head.Number)
		t.wanted = &want{chain: head.Chain, number: head.Number, until: time.Now().Add(t.worker.options.Answer)}
	}
	to, err := t.answer(ctx)
	if errors.Is(err, errUnanswered) {
		return t.oldest(ctx, from)
	}
	return to, err
}

// answer waits for a full epoch behind the newest one of the time when it was asked for; deltas may have followed it.
func (t *target) answer(ctx context.Context) (stream.Epoch, error) {
	wait, cancel := context.WithDeadline(ctx, t.wanted.until)
	defer cancel()
	for at := (stream.Epoch{Chain: t.wanted.chain, Number: t.wanted.number}); ; {
		to, err := t.worker.source.Next(wait, t.table.Consumer, at.Chain, at.Number)
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
func (t *target) oldest(ctx context.Context, from Position) (stream.Epoch, error) {
	to, err := t.worker.source.Next(ctx, t.table.Consumer, "", 0)
	if err == nil && to.Chain == from.Chain && to.Number <= from.Epoch {
		return stream.Epoch{}, fmt.Errorf("%w: %w", errUnanswered, stream.ErrResync)
	}
	if err == nil && !t.wanted.given {
		t.wanted.given = true
		t.log.WarnContext(ctx, "the target is built up from an old full epoch", "reason", errUnanswered, "epoch", to.Number, "waited", t.worker.options.Answer)
	}
	return to, err
}

// passOver gives the full epoch that makes one unnecessary which the target refuses for good: a config that was wrong for a while has been put
// right, or the rows at fault are gone. It is newer each time, so this ends.
func (t *target) passOver(ctx context.Context, refused stream.Epoch, cause error) (stream.Epoch, bool) {
	var permanent *PermanentError
	if !errors.As(cause, &permanent) {
		return stream.Epoch{}, false
	}
	newer := func(number uint64, chain string) bool { return number > refused.Number || chain != refused.Chain }
	look, cancel := context.WithTimeout(ctx, t.worker.options.Recheck)
	defer cancel()
	head, ok, err := t.worker.source.Head(look, t.table.Consumer)
	if err != nil || !ok || !newer(head.Start, head.Chain) {
		return stream.Epoch{}, false
	}
	to, err := t.worker.source.Next(look, t.table.Consumer, "", 0)
	if err != nil || !newer(to.Number, to.Chain) {
		return stream.Epoch{}, false
	}
	t.log.WarnContext(ctx, "the target refuses an epoch, so all up to a newer full one are passed over", "error", cause, "refused", refused.Number, "epoch", to.Number)
	return to, true
}

// resync asks for a full epoch; the loop then finds it by itself.
func (t *target) resync(ctx context.Context, cause error) error {
	if err := t.request(ctx, cause.Error()); err != nil {
		return err
	}
	return fmt.Errorf("a full epoch is asked for: %w", cause)
}

func (t *target) request(ctx context.Context, reason string) error {
	at := t.worker.progress.position(t.index)
	q := registry.Resync{Consumer: t.table.Consumer, Sink: t.worker.name, Reason: reason, Chain: at.Chain, After: at.Epoch, Time: time.Now()}
	if err := t.worker.registry.RequestResync(ctx, q); err != nil {
		return fmt.Errorf("asking for a full epoch: %w", err)
	}
	return nil
}
