package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// longPoll bounds the time between two looks for a record; usually the write of one wakes who waits for it.
const longPoll = 2 * time.Second

// errWait says that nothing new is published yet.
var errWait = errors.New("nothing new")

// Next waits for the epoch that follows position (chain, after). That is the one with number after+1 of the same chain. Where that one is gone or known to be
// broken it is the newest full one behind the position; and where the position is of a history that was lost, or after is 0, the newest full one at all.
// ErrResync says that there is none from which the newest epoch can be reached: ask for a full epoch, wait, and call again.
func (s *Source) Next(ctx context.Context, consumer, chain string, after uint64) (Epoch, error) {
	wake := make(chan struct{}, 1)
	hint := func(*nats.Msg) {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	if sub, err := s.bus.conn.Subscribe(s.keySubject(Token(consumer)+".*"), hint); err == nil { // it may be forbidden, or come before the record can be read
		defer func() { _ = sub.Unsubscribe() }()
	}
	pause := 50 * time.Millisecond
	for {
		e, err := s.poll(ctx, consumer, chain, after)
		if !errors.Is(err, errWait) {
			return e, err
		}
		t := time.NewTimer(pause)
		select {
		case <-wake:
			pause = time.Millisecond
		case <-t.C:
			pause = min(2*pause, longPoll)
		case <-ctx.Done():
			t.Stop()
			return Epoch{}, ctx.Err()
		case <-s.bus.closed:
			t.Stop()
			return Epoch{}, nats.ErrConnectionClosed
		}
		t.Stop()
	}
}

// poll is one look of Next.
func (s *Source) poll(ctx context.Context, consumer, chain string, after uint64) (Epoch, error) {
	if after > 0 {
		e, ok, err := s.record(ctx, consumer, after+1)
		if err != nil || ok && e.Chain == chain && !s.isBroken(e) {
			return e, err
		}
	}
	all, err := s.numbers(ctx, consumer)
	if err != nil {
		return Epoch{}, err
	}
	if len(all) == 0 {
		return Epoch{}, errWait
	}
	head, ok, err := s.record(ctx, consumer, all[len(all)-1])
	known := ok && after > 0 && head.Chain == chain && head.Number >= after // the position is one of this history
	switch {
	case err != nil:
		return Epoch{}, err
	case !ok: // trimmed since it was listed
		return Epoch{}, errWait
	case known && head.Number == after:
		return Epoch{}, errWait
	case known && head.Number == after+1 && !s.isBroken(head): // written since the first look
		return head, nil
	case known && head.Start <= after:
		return Epoch{}, fmt.Errorf("consumer %s, epoch %d of %d: %w", consumer, after+1, head.Number, ErrResync)
	}
	return s.newestFull(ctx, head, all)
}

// newestFull gives the newest full epoch, if it and all epochs between it and head are still there.
func (s *Source) newestFull(ctx context.Context, head Epoch, all []uint64) (Epoch, error) {
	between := uint64(0)
	for _, n := range all {
		if n >= head.Start {
			between++
		}
	}
	full, ok := head, true
	if head.Start != head.Number {
		var err error
		if full, ok, err = s.record(ctx, head.Consumer, head.Start); err != nil {
			return Epoch{}, err
		}
	}
	if !ok || full.Chain != head.Chain || s.isBroken(full) || between != head.Number-head.Start+1 {
		return Epoch{}, fmt.Errorf("consumer %s, full epoch %d below %d: %w", head.Consumer, head.Start, head.Number, ErrResync)
	}
	return full, nil
}

func (s *Source) isBroken(e Epoch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken[e.Attempt]
}

func (s *Source) markBroken(e Epoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[e.Attempt] = true
}
