package stream

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publisher writes the epochs of one consumer, one at a time.
//
// The consumer's control subject decides between publishers. It holds nothing but the begin and commit lines of epochs. A begin line is stored there only if nobody has written to
// it since its publisher looked, and a commit line only right behind its own begin line; so an attempt with a commit line has won, its changes being stored all, and whoever comes
// later completes it.
type Publisher struct {
	src      *Source
	consumer string

	mu    sync.Mutex
	last  Epoch  // the newest
	valid bool   // last can be the base of a delta
	tail  uint64 // last sequence of the control subject, as far as known
	stale bool   // something may have been written since
}

// Publisher opens the one writer of a consumer. An epoch whose publisher died between its first commit line and its record is completed first.
func (s *Source) Publisher(ctx context.Context, consumer string) (*Publisher, error) {
	if _, err := s.bus.Source(ctx, s.name); err != nil { // makes again what somebody has deleted meanwhile; names are all that ours holds
		return nil, err
	}
	p := &Publisher{src: s, consumer: consumer}
	if err := p.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("source %s, consumer %s: %w", s.name, consumer, err)
	}
	return p, nil
}

// Last is the newest published epoch, the base of the next one; false when there is none that a delta may build on.
func (p *Publisher) Last() (Epoch, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.valid {
		return Epoch{}, false
	}
	return p.last, true
}

// Step is that of the newest epoch that there ever was, as far as the stream tells.
func (p *Publisher) Step() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Step
}

// Begin opens the next epoch; of e it reads Full, Resync, Base, Snapshot, Columns, Partitions, Operator, State and Step. Without a last epoch it must be full.
// An epoch that was begun and not committed, by whomever, is superseded. ErrFenced: somebody else has published meanwhile; Last is up to date, start over from it.
func (p *Publisher) Begin(ctx context.Context, e Epoch) (*Writer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale {
		if err := p.refresh(ctx); err != nil {
			return nil, err
		}
	}
	e, err := p.next(e)
	if err != nil {
		return nil, err
	}
	if e.FirstSeq, err = p.announce(ctx, &e); err != nil {
		return nil, fmt.Errorf("begin of epoch %s: %w", e, err)
	}
	p.stale = true // until it is committed
	w, err := newWriter(ctx, p, e)
	if err != nil {
		return nil, fmt.Errorf("begin of epoch %s: %w", e, err)
	}
	return w, nil
}

// next fills in what an epoch has from its predecessor.
func (p *Publisher) next(e Epoch) (Epoch, error) {
	e.Source, e.Consumer, e.Number, e.Attempt = p.src.name, p.consumer, p.last.Number+1, newID()
	e.Chain, e.Start, e.Previous = p.last.Chain, p.last.Start, p.last.Attempt
	e.Generation, e.Time = p.src.bus.generation(), time.Now().UTC()
	switch {
	case e.Partitions <= 0:
		return e, fmt.Errorf("epoch %s: %d partitions", e, e.Partitions)
	case e.Full:
		e.Base, e.Start = nil, e.Number
		if !p.valid {
			e.Chain = newID()
		}
	case !p.valid:
		return e, fmt.Errorf("epoch %s: the first one must be full", e)
	case e.Base == nil:
		base := p.last.Snapshot
		e.Base = &base
	case !reflect.DeepEqual(*e.Base, p.last.Snapshot):
		return e, fmt.Errorf("epoch %s: its base %s is not what was last published, %s", e, e.Base.Location, p.last.Snapshot.Location)
	}
	e.Counts, e.Shares, e.Rows = Counts{}, make([]Counts, e.Partitions), p.last.Rows
	return e, nil
}

// announce stores the begin lines, that of the control subject first, and gives its sequence.
func (p *Publisher) announce(ctx context.Context, e *Epoch) (uint64, error) {
	first, err := p.announceControl(ctx, e)
	if err != nil {
		return 0, err
	}
	p.tail = first
	var lines []*nats.Msg
	for i := range e.Partitions {
		line, err := e.begin(i)
		if err != nil {
			return 0, err
		}
		lines = append(lines, p.src.message(e, i, kindBegin, 0, 0, line))
	}
	return first, p.src.publishAll(ctx, lines)
}

func (p *Publisher) announceControl(ctx context.Context, e *Epoch) (uint64, error) {
	line, err := e.begin(controlLane)
	if err != nil {
		return 0, err
	}
	for range maxTries {
		seq, err := p.src.publishAfter(ctx, p.src.message(e, controlLane, kindBegin, 0, 0, line), p.tail)
		if err == nil || !conflict(err) {
			return seq, err
		}
		if err := p.refresh(ctx); err != nil { // an attempt that we supersede has begun, or our own begin line is there already
			return 0, err
		}
	}
	return 0, fmt.Errorf("others begin all the time: %w", ErrFenced)
}

// maxTries bounds how often a publisher tries to supersede others that do the same.
const maxTries = 10

// refresh looks again at what was published, and gives ErrFenced when it is not what this publisher knows.
func (p *Publisher) refresh(ctx context.Context) error {
	number, attempt := p.last.Number, p.last.Attempt
	if err := p.catchUp(ctx); err != nil {
		return err
	}
	if p.last.Number != number || p.last.Attempt != attempt {
		return fmt.Errorf("epoch %s is there already: %w", p.last, ErrFenced)
	}
	return nil
}

// committed notes the epoch that the writer made.
func (p *Publisher) committed(e Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.valid, p.tail, p.stale = e, true, e.LastSeq, false
}

// publishAfter stores a message if the last sequence of its subject is the one given, and gives its own.
func (s *Source) publishAfter(ctx context.Context, m *nats.Msg, last uint64) (uint64, error) {
	ack, err := s.bus.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(last))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, s.checkAck(ack)
}

// checkAck notices a stream elsewhere that has our subjects too.
func (s *Source) checkAck(ack *jetstream.PubAck) error {
	if ack.Stream != s.base() || ack.Domain != s.bus.domain {
		return fmt.Errorf("stream %s (domain %q) took a message of stream %s (domain %q): their subjects overlap; delete that stream, or set another prefix",
			ack.Stream, ack.Domain, s.base(), s.bus.domain)
	}
	return nil
}

// publishAll stores messages at once and waits for all.
func (s *Source) publishAll(ctx context.Context, messages []*nats.Msg) error {
	var futures []jetstream.PubAckFuture
	var faults []error
	for _, m := range messages {
		f, err := s.bus.js.PublishMsgAsync(m)
		if err != nil {
			faults = append(faults, err)
			break
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case ack := <-f.Ok():
			faults = append(faults, s.checkAck(ack))
		case err := <-f.Err():
			faults = append(faults, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(faults...)
}
