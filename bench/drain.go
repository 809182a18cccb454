package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

const (
	drainGoal  = 2.5 // times the rows of Benthos
	drainSteps = 9   // epochs behind the full one

	drainPatience = 15 * time.Minute // for one run of Benthos, which repeats what fails for ever
)

// drain lets our sinks and Benthos empty the same stream into the same servers, in order, and compares what they leave there.
func (b *bench) drain(ctx context.Context, t *table) (err error) {
	d := &draining{bench: b, binary: filepath.Join(b.dir, "benthos")}
	if err := b.build(ctx, filepath.Join("bench", "benthos"), "go", "build", "-trimpath", "-o", d.binary, "."); err != nil {
		return err
	}
	if d.nats, err = startNATS(ctx, b.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.nats.stop()) }()
	bus, err := stream.Connect(ctx, stream.Options{URL: d.nats.url}, quiet)
	if err != nil {
		return err
	}
	defer bus.Close()
	if err := d.fill(ctx, bus); err != nil {
		return err
	}
	for _, start := range []func(context.Context) (drainTarget, error){newDrainPostgres, newDrainRedis} {
		target, err := start(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(d.compare(ctx, t, target), target.Close()); err != nil {
			return err
		}
	}
	return nil
}

var quiet = slog.New(slog.DiscardHandler)

// A drainTarget is a server with a place for ours and one for the peer's rows.
type drainTarget interface {
	Name() string
	Clear(ctx context.Context) error // both places
	Sink(ctx context.Context) (sinks.Sink, error)
	Peer() (config string, env []string)
	Equal(ctx context.Context) error // nil when both hold the same rows, and some
	Close() error
}

type draining struct {
	*bench
	binary   string // Benthos
	nats     *natsProcess
	source   *stream.Source
	registry *registry.Registry
	last     stream.Epoch
	changes  int
}

// fill publishes a full epoch and then epochs of updates, rows that come and rows that go.
func (d *draining) fill(ctx context.Context, bus *stream.Bus) (err error) {
	if d.source, err = bus.Source(ctx, "bank"); err != nil {
		return err
	}
	if d.registry, err = registry.Open(ctx, d.source); err != nil {
		return err
	}
	p, err := d.source.Publisher(ctx, "accounts")
	if err != nil {
		return err
	}
	for step := range drainSteps + 1 {
		e, changes := deltaEpoch(int64(step)), benchDelta(d.rows/2, step)
		if step == 0 {
			e, changes = fullEpoch(0), benchRows(d.rows/2)
		}
		if d.last, err = publishChanges(ctx, p, e, changes); err != nil {
			return err
		}
		d.changes += len(changes)
	}
	return nil
}

func (d *draining) compare(ctx context.Context, t *table, target drainTarget) error {
	run := func(f func(context.Context, drainTarget) (sample, error)) *entrant {
		return &entrant{run: func(ctx context.Context) (sample, error) { return f(ctx, target) }}
	}
	ours, peer, again := run(d.ours), run(d.peer), run(d.ours)
	for range d.rounds {
		if err := target.Clear(ctx); err != nil {
			return err
		}
		if err := contest(ctx, 1, d.limit, ours, peer); err != nil {
			return err
		}
		if err := target.Equal(ctx); err != nil {
			return err
		}
		if err := errors.Join(target.Clear(ctx), contest(ctx, 1, d.limit, again)); err != nil {
			return err
		}
	}
	other, own := peer.each(seconds), ours.each(seconds)
	t.add(row{what: "drain: rows/s, Benthos into " + target.Name(), data: fmt.Sprintf("%s changes, %d epochs", count(d.changes), drainSteps+1),
		other: rate(d.changes, median(other)), ours: rate(d.changes, median(own)), ratio: compare(other, own), control: compare(again.each(seconds), own).median, goal: drainGoal})
	return nil
}

// ours is a worker, from its start to its commit of the last epoch.
func (d *draining) ours(ctx context.Context, target drainTarget) (sample, error) {
	sink, err := target.Sink(ctx)
	if err != nil {
		return sample{}, err
	}
	defer sink.Close()
	table := sinks.Table{Source: d.last.Source, Consumer: d.last.Consumer}
	w := sinks.NewWorker(target.Name(), sink, []sinks.Table{table}, d.source, d.registry, quiet, sinks.Options{Answer: time.Nanosecond}) // nobody would answer
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- w.Run(ctx) }()
	err = w.Wait(ctx, d.last)
	s := sample{wall: time.Since(start)}
	cancel()
	return s, errors.Join(err, <-ended)
}

// peer is Benthos, from the moment at which its consumer is on the server until all is acknowledged.
func (d *draining) peer(ctx context.Context, target drainTarget) (sample, error) {
	config, env := target.Peer()
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	running, err := startProcess(ctx, append(env, "NATS_URL="+d.nats.url), d.binary, "-c", filepath.Join(d.repository, "bench", "benthos", config))
	if err != nil {
		return sample{}, err
	}
	var start time.Time
	for {
		left, there, err := d.unacknowledged(ctx)
		switch {
		case err != nil:
			return sample{}, errors.Join(err, running.stop())
		case there && start.IsZero():
			start = time.Now()
		case there && left == 0:
			s := sample{wall: time.Since(start)}
			return s, errors.Join(running.stop(), d.nats.js.DeleteConsumer(ctx, d.stream(), "peer"))
		}
		select {
		case err := <-running.ended:
			return sample{}, fmt.Errorf("benthos has ended: %w\n%s", err, running.said.String())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (d *draining) stream() string { return "statebridge_bank" }

// unacknowledged counts the messages that the peer's consumer has not seen done.
func (d *draining) unacknowledged(ctx context.Context) (left int, there bool, err error) {
	c, err := d.nats.js.PushConsumer(ctx, d.stream(), "peer")
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	info := c.CachedInfo()
	return int(info.NumPending) + info.NumAckPending, true, nil
}
