package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// catchUp finds the newest published epoch. That is the newest record or the newest commit line of the control subject, whichever has the higher number: such a line
// is stored after every change of its epoch, so that it is rolled forward to a record.
func (p *Publisher) catchUp(ctx context.Context) error {
	s := p.src
	head, ok, err := s.Head(ctx, p.consumer)
	if err != nil {
		return err
	}
	tail, decided, err := s.lastControl(ctx, p.consumer)
	if err != nil {
		return err
	}
	if decided != nil && decided.Number > head.Number {
		if head, err = s.rollForward(ctx, *decided); err != nil {
			return err
		}
		ok = true
	}
	p.last, p.tail, p.stale = head, tail, false
	p.valid = ok && head.Generation == s.bus.generation()
	if ok && !p.valid {
		s.bus.log.Warn("the machine went down while the embedded server was in use, which may have lost the end of its files: a full epoch follows",
			"consumer", p.consumer, "epoch", head.Number)
	}
	return nil
}

// lastControl gives the sequence of the last line of a consumer's control subject, 0 when there is none, and the record when it is a commit line.
// When it is a begin line, what was committed before it has a record: whoever begins sees to that first.
func (s *Source) lastControl(ctx context.Context, consumer string) (uint64, *Epoch, error) {
	subject := s.subject(consumer, controlLane)
	m, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("last line of %s: %w", subject, err)
	}
	if m.Header.Get(headerKind) != kindCommit {
		return m.Sequence, nil, nil
	}
	e, err := recordOf(m.Data, m.Sequence)
	return m.Sequence, &e, err
}

// rollForward completes an epoch whose commit line e came from, and gives the record that its number has.
func (s *Source) rollForward(ctx context.Context, e Epoch) (Epoch, error) {
	s.bus.log.Info("completing an epoch that its publisher left behind", "consumer", e.Consumer, "epoch", e.Number, "attempt", e.Attempt)
	if err := s.publishCommits(ctx, e); err != nil {
		return e, fmt.Errorf("epoch %s: %w", e, err)
	}
	won, err := s.createRecord(ctx, e)
	if err != nil || won {
		return e, err
	}
	have, ok, err := s.record(ctx, e.Consumer, e.Number)
	if err == nil && !ok {
		err = fmt.Errorf("record of epoch %s: neither to be written nor to be read", e)
	}
	return have, err
}

// publishCommits stores the commit lines of the partitions, for those who follow a single one. A repetition is harmless.
func (s *Source) publishCommits(ctx context.Context, e Epoch) error {
	var lines []*nats.Msg
	for i := range e.Partitions {
		line, err := e.commit(i)
		if err != nil {
			return err
		}
		lines = append(lines, s.message(&e, i, kindCommit, 0, 0, line))
	}
	return s.publishAll(ctx, lines)
}
