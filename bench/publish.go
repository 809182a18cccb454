package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

const publishGoal = 0.8 // of the fastest way to publish the same lines

// publish writes one epoch into a stream on disk: ours from rows, the others from message bodies that hold the same lines and are made beforehand.
func (b *bench) publish(ctx context.Context, t *table) (err error) {
	n, err := startNATS(ctx, b.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	bus, err := stream.Connect(ctx, stream.Options{URL: n.url}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer bus.Close()
	p := &publishing{nats: n, bus: bus, rows: benchRows(b.rows)}
	if p.lines, err = p.published(ctx); err != nil {
		return err
	}
	ours, again := &entrant{run: p.ours}, &entrant{run: p.ours}
	entrants := []*entrant{ours, again}
	ways := p.ways()
	for i := range ways {
		entrants = append(entrants, &ways[i].entrant)
	}
	if err := contest(ctx, b.rounds, b.limit, entrants...); err != nil {
		return err
	}
	p.report(t, ours, again, ways)
	return nil
}

type publishing struct {
	nats  *natsProcess
	bus   *stream.Bus
	rows  []stream.Change
	lines map[string][]byte // by the end of their subject
	bytes int
}

func (p *publishing) report(t *table, ours, again *entrant, ways []way) {
	data := fmt.Sprintf("%s rows, %.0f MB", count(len(p.rows)), float64(p.bytes)/1e6)
	own, used := ours.each(seconds), ours.each(cpuSeconds)
	best, thrifty := fastest(ways, seconds), fastest(ways, cpuSeconds)
	for i := range ways {
		other, goal := ways[i].each(seconds), 0.0
		if i == best {
			goal = publishGoal
		}
		t.add(row{what: "publish: changes/s, " + ways[i].name, data: data, other: rate(len(p.rows), median(other)), ours: rate(len(p.rows), median(own)),
			ratio: compare(other, own), control: compare(again.each(seconds), own).median, goal: goal})
	}
	other := ways[thrifty].each(cpuSeconds)
	t.add(row{what: "publish: CPU, " + ways[thrifty].name, data: data, other: took(median(other)), ours: took(median(used)),
		ratio: compare(other, used), control: compare(again.each(cpuSeconds), used).median})
}

// fastest says which way needs the least.
func fastest(ways []way, of func(sample) float64) (best int) {
	for i := range ways {
		if median(ways[i].each(of)) < median(ways[best].each(of)) {
			best = i
		}
	}
	return best
}

// ours publishes an epoch through the publisher, from Begin to Commit.
func (p *publishing) ours(ctx context.Context) (sample, error) {
	if err := p.nats.clear(ctx); err != nil {
		return sample{}, err
	}
	source, err := p.bus.Source(ctx, "bank")
	if err != nil {
		return sample{}, err
	}
	publisher, err := source.Publisher(ctx, "accounts")
	if err != nil {
		return sample{}, err
	}
	return p.nats.timed(func() error {
		_, err := publishChanges(ctx, publisher, fullEpoch(7), p.rows)
		return err
	})
}

// published gives the lines of the rows as ours writes them.
func (p *publishing) published(ctx context.Context) (map[string][]byte, error) {
	if _, err := p.ours(ctx); err != nil {
		return nil, err
	}
	lines := map[string][]byte{}
	return lines, eachMessage(ctx, p.nats.js, "statebridge_bank", func(m jetstream.Msg) {
		if m.Headers().Get("Statebridge-Kind") == "changes" {
			lane := m.Subject()[strings.LastIndexByte(m.Subject(), '.'):]
			lines[lane] = append(lines[lane], m.Data()...)
			p.bytes += len(m.Data())
		}
	})
}

// eachMessage reads a stream to its end.
func eachMessage(ctx context.Context, js jetstream.JetStream, name string, f func(jetstream.Msg)) error {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := c.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for left := s.CachedInfo().State.Msgs; left > 0; left-- {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		f(m)
	}
	return nil
}
