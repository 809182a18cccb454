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

// Next waits for the epoch that follows position (chain, after): the record of after+1 of the same chain; or, when the newest epoch is of another chain or after is 0, the full
// one that that chain starts with. It gives ErrResync when what is published can't be applied from here on: ask for a full epoch, wait, and call again.
func (s *Source) Next(ctx context.Context, consumer, chain string, after uint64) (Epoch, error) {
	wake := make(chan *nats.Msg, 1)
	if sub, err := s.bus.conn.ChanSubscribe(s.keySubject(Token(consumer)+".*"), wake); err == nil { // a hint only: it may be forbidden, or come before the record can be read
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
	switch {
	case err != nil:
		return Epoch{}, err
	case !ok: // trimmed since it was listed
		return Epoch{}, errWait
	case after > 0 && head.Chain == chain && head.Number == after:
		return Epoch{}, errWait
	case after > 0 && head.Chain == chain && head.Number == after+1 && !s.isBroken(head): // written since the first look
		return head, nil
	case after > 0 && head.Chain == chain:
		return Epoch{}, fmt.Errorf("consumer %s, epoch %d of %d: %w", consumer, after+1, head.Number, ErrResync)
	}
	return s.chainStart(ctx, head, all)
}

// chainStart gives the full epoch from which head can be reached, if all epochs between are still there.
func (s *Source) chainStart(ctx context.Context, head Epoch, all []uint64) (Epoch, error) {
	between := 0
	for _, n := range all {
		if n >= head.Start {
			between++
		}
	}
	start, ok := head, true
	if head.Start != head.Number {
		var err error
		if start, ok, err = s.record(ctx, head.Consumer, head.Start); err != nil {
			return Epoch{}, err
		}
	}
	if !ok || start.Chain != head.Chain || s.isBroken(start) || uint64(between) != head.Number-head.Start+1 {
		return Epoch{}, fmt.Errorf("consumer %s, full epoch %d below %d: %w", head.Consumer, head.Start, head.Number, ErrResync)
	}
	return start, nil
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
