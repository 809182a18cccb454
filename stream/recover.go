package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// recover finds the newest published epoch. That is the newest record or the newest commit line in partition 0, whichever has the higher number: such a line
// is stored after every change of its epoch, so that it is rolled forward to a record.
func (p *Publisher) recover(ctx context.Context) error {
	s := p.src
	head, ok, err := s.Head(ctx, p.consumer)
	if err != nil {
		return err
	}
	tail, found, err := s.newestCommit(ctx, p.consumer, head)
	if err != nil {
		return err
	}
	if found != nil && found.Number > head.Number {
		if head, err = s.rollForward(ctx, *found); err != nil {
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

// newestCommit finds the newest commit line in partition 0 behind the last record's, and the last sequence of its subject.
func (s *Source) newestCommit(ctx context.Context, consumer string, head Epoch) (tail uint64, found *Epoch, err error) {
	subject := s.subject(consumer, 0)
	last, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("last line of %s: %w", subject, err)
	}
	from := head.LastSeq + 1
	if from > last.Sequence+1 { // the stream is younger than the record: it was deleted and made again
		from = 1
	}
	at := last.Sequence
	if last.Header.Get(headerKind) != kindCommit {
		lines, err := s.controlLines(ctx, subject, from, last.Sequence)
		if err != nil {
			return 0, nil, err
		}
		at = lines.commit
	}
	if at < from {
		return last.Sequence, nil, nil
	}
	e, err := s.commitAt(ctx, at)
	return last.Sequence, e, err
}

func (s *Source) commitAt(ctx context.Context, seq uint64) (*Epoch, error) {
	m, err := s.stream.GetMsg(ctx, seq)
	if err != nil {
		return nil, fmt.Errorf("commit line at sequence %d: %w", seq, err)
	}
	e, err := recordOf(m.Data, seq)
	return &e, err
}

// control says where the newest lines of each kind are among the messages looked at; 0 where there is none.
type control struct {
	begin, commit, last uint64
	attempt             string // of the newest begin or commit line
}

// controlLines looks through the headers of a subject's messages from one sequence to another.
func (s *Source) controlLines(ctx context.Context, subject string, from, to uint64) (control, error) {
	var c control
	if from > to {
		return c, nil
	}
	r, err := s.read(ctx, subject, from, true)
	if err != nil {
		return c, err
	}
	defer r.stop()
	for r.left() && c.last < to {
		m, err := r.next(ctx, to)
		if err != nil {
			return c, err
		}
		if m == nil {
			break
		}
		c.last = r.seq
		switch m.Headers().Get(headerKind) {
		case kindBegin:
			c.begin, c.attempt = r.seq, m.Headers().Get(headerAttempt)
		case kindCommit:
			c.commit, c.attempt = r.seq, m.Headers().Get(headerAttempt)
		}
	}
	return c, nil
}

// rollForward completes an epoch whose first commit line e came from, and gives the record that its number has.
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

// publishCommits stores the commit lines of all partitions but the first. A repetition is dropped by the server, and if not, by readers.
func (s *Source) publishCommits(ctx context.Context, e Epoch) error {
	var rest []*nats.Msg
	for i := 1; i < e.Partitions; i++ {
		line, err := e.commit(i)
		if err != nil {
			return err
		}
		rest = append(rest, s.message(&e, i, kindCommit, ^uint64(0), 0, line))
	}
	return s.publishAll(ctx, rest)
}

// reading pulls the messages of some subjects in the order of the stream.
type reading struct {
	src     *Source
	filter  string
	it      jetstream.MessagesContext
	seq     uint64 // of the message given last
	pending uint64 // messages behind it
	release func() bool
}

func (s *Source) read(ctx context.Context, filter string, from uint64, headersOnly bool) (*reading, error) {
	c, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
		HeadersOnly: headersOnly, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filter, err)
	}
	info := c.CachedInfo()
	ahead := min(max(defaultWindow/s.limit, 4), 512)
	it, err := c.Messages(jetstream.PullMaxMessages(ahead))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filter, err)
	}
	r := &reading{src: s, filter: filter, it: it, seq: max(from, 1) - 1, pending: info.NumPending}
	r.release = context.AfterFunc(ctx, it.Stop)
	return r, nil
}

func (r *reading) stop() {
	r.release()
	r.it.Stop()
}

// left says whether the stream had more messages when the last one was given.
func (r *reading) left() bool { return r.pending > 0 }

// patience is how long a message that should come may take before we look whether it is still there.
const patience = 5 * time.Second

// next gives the next message, or nil when there is none up to sequence to any more.
func (r *reading) next(ctx context.Context, to uint64) (jetstream.Msg, error) {
	for {
		m, err := r.it.Next(jetstream.NextMaxWait(patience))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			meta, err := m.Metadata()
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", r.filter, err)
			}
			r.seq, r.pending = meta.Sequence.Stream, meta.NumPending
			return m, nil
		case !errors.Is(err, nats.ErrTimeout):
			return nil, fmt.Errorf("reading %s: %w", r.filter, err)
		}
		if there, err := r.src.hasMessage(ctx, r.filter, r.seq+1, to); err != nil || !there {
			return nil, err
		}
	}
}

// hasMessage says whether the stream has a message that fits the filter, with a sequence in [from, to].
func (s *Source) hasMessage(ctx context.Context, filter string, from, to uint64) (bool, error) {
	m, err := s.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s from sequence %s: %w", filter, strconv.FormatUint(from, 10), err)
	}
	return m.Sequence <= to, nil
}
