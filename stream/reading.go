package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// reading pulls the messages of some subjects in the order of the stream.
type reading struct {
	src     *Source
	filter  string
	it      jetstream.MessagesContext
	seq     uint64 // of the message given last
	pending uint64 // messages behind it
	release func() bool
}

// idle is how long the server keeps a reading that nobody pulls from. A reader that is slower than that is given another one.
var idle = 5 * time.Minute

// patience is how long a message that should come may take before we look whether it is still there.
const patience = 5 * time.Second

const maxReopens = 10

func (s *Source) read(ctx context.Context, filter string, from uint64) (*reading, error) {
	r := &reading{src: s, filter: filter, seq: max(from, 1) - 1}
	return r, r.open(ctx)
}

// open starts to pull behind the message given last.
func (r *reading) open(ctx context.Context) error {
	c, err := r.src.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{r.filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.seq + 1, InactiveThreshold: idle,
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.filter, err)
	}
	ahead := min(max(r.src.bus.opts.ReadAhead/r.src.limit, 2), 512) // messages, however large they are
	it, err := c.Messages(jetstream.PullMaxMessages(ahead))
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.filter, err)
	}
	r.it, r.pending = it, c.CachedInfo().NumPending
	r.release = context.AfterFunc(ctx, it.Stop)
	return nil
}

func (r *reading) stop() {
	r.release()
	r.it.Stop()
}

// left says whether the stream had more messages when the last one was given.
func (r *reading) left() bool { return r.pending > 0 }

// next gives the next message, or nil when there is none up to sequence to any more.
func (r *reading) next(ctx context.Context, to uint64) (jetstream.Msg, error) {
	for range maxReopens {
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
		r.stop() // it is there and does not come: the server has forgotten this reading
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("reading %s: the message behind sequence %d is in the stream and is not delivered", r.filter, r.seq)
}

// hasMessage says whether the stream has a message that fits the filter, with a sequence in [from, to].
func (s *Source) hasMessage(ctx context.Context, filter string, from, to uint64) (bool, error) {
	m, err := s.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s from sequence %d: %w", filter, from, err)
	}
	return m.Sequence <= to, nil
}
