package feed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
)

// Consumer is one state of one operator to publish.
type Consumer struct {
	Name            string
	Operator, State string
	Columns         []state.Mapping       // nil: from the state's schema
	Names           []checkpoint.RowNames // of the fields of SQL rows
	Sinks           []string              // names of the sinks that apply it; the feed waits for the slowest
	Guard           Guard
	Answer          *Answer // nil: none was given
}

// Options tune a feed; the zero value works but for Partitions.
type Options struct {
	Partitions int           // ranges of key groups that are published side by side
	Keep       time.Duration // how long an epoch stays in the stream after every sink has applied it
	Snapshot   checkpoint.Options
	Holder     string // who publishes, for people
}

// Feed publishes consumers, most often one. Each step leads all of them to the same snapshot; while one can't go there, none does.
type Feed struct {
	members  []*member
	options  Options
	watch    *Watch
	pins     *checkpoint.Pins
	source   *stream.Source
	registry *registry.Registry
	log      *slog.Logger

	passed     map[string]time.Time // snapshots that can't be read, by address, and when that was seen
	checked    bool                 // whether the newest epochs were published under this config
	changed    bool                 // they were not, and nothing has been tried under it yet
	incomplete *incomplete          // the newest snapshot that lacked a file
	seen       checkpoint.Found     // the newest snapshot that was found to need an answer
}

// New makes a feed. Nothing is read or written before Run or Once.
func New(consumers []Consumer, o Options, w *Watch, p *checkpoint.Pins, s *stream.Source, r *registry.Registry, log *slog.Logger) *Feed {
	f := &Feed{options: o, watch: w, pins: p, source: s, registry: r, passed: map[string]time.Time{}}
	for _, c := range consumers {
		f.members = append(f.members, &member{feed: f, consumer: c, log: log.With("consumer", c.Name)})
	}
	slices.SortFunc(f.members, func(a, b *member) int { return strings.Compare(a.consumer.Name, b.consumer.Name) })
	f.log = log.With("consumer", f.names())
	return f
}

// names lists the consumers, for people.
func (f *Feed) names() string {
	var names []string
	for _, m := range f.members {
		names = append(names, m.consumer.Name)
	}
	return strings.Join(names, ", ")
}

const (
	// leaseTTL is how long a publisher that died keeps others out.
	leaseTTL = 10 * time.Second
	// maxBacklog is how many waiting snapshots are published one by one; beyond that the newest is taken at once.
	maxBacklog = 4
	// passedFor is how long a snapshot that can't be read is left alone.
	passedFor = time.Minute
	// writingFor is how long a metadata file that was touched last may still be written.
	writingFor = time.Minute
	// fullFor is the longest pause while there is no room.
	fullFor = 30 * time.Second
	// maxAhead is how many epochs a feed runs ahead of the slowest sink.
	maxAhead = 8
)

// errNothing says that there is no snapshot to publish.
var errNothing = errors.New("no new complete snapshot")

// Run publishes each new snapshot until ctx ends. Snapshots that can't be read are logged and passed over; an error is one of
// the stream or the pins, or says that the lease is lost. Then Run may be called again.
func (f *Feed) Run(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(f.watch.Poll), backoff.WithMaxInterval(fullFor), backoff.WithMaxElapsedTime(0))
	return f.hold(ctx, 0, func(ctx context.Context) error {
		for ctx.Err() == nil {
			err := f.step(ctx, f.awaitSinks)
			switch {
			case err == nil:
				pauses.Reset()
				continue // look again at once: there may be a backlog
			case noRoom(err): // stays in its place, to trim what may go
				d := pauses.NextBackOff()
				f.log.ErrorContext(ctx, "there is no room to publish, trying again later", "error", err, "retry_in", d)
				wait(ctx, d)
				continue
			case errors.Is(err, errNothing):
				f.forgetAnswers()
			case errors.Is(err, storage.ErrUnavailable):
				f.once(ctx, slog.LevelWarn, "the storage does not answer, looking again later", "", storageSaid, err)
			case passing(err):
				f.once(ctx, slog.LevelError, "snapshot passed over, waiting for the next", "", snapshotSaid, err)
			default:
				return err
			}
			wait(ctx, f.watch.Poll)
		}
		return nil
	})
}

// forgetAnswers ends what was answered before it was asked.
func (f *Feed) forgetAnswers() {
	for _, m := range f.members {
		m.consumer.Answer = nil
	}
}

// noRoom says whether a step has published nothing for a limit that was reached, on the bus or in the data directory.
func noRoom(err error) bool {
	unsure := new(commitError)
	return (stream.IsFull(err) || errors.Is(err, syscall.ENOSPC)) && !errors.As(err, &unsure)
}

// passing says whether err concerns one snapshot and not the feed.
func passing(err error) bool {
	var missing *checkpoint.NotFoundError
	return errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &missing)
}

// hold runs do while this process has the feed's lease, that of the first consumer, which is waited for so long; 0: for ever.
func (f *Feed) hold(ctx context.Context, patience time.Duration, do func(context.Context) error) error {
	claim := registry.Claim{Task: registry.Task{Consumer: f.members[0].consumer.Name}, Holder: f.options.Holder, TTL: leaseTTL, Patience: patience, Waiting: func(holder string) {
		f.log.InfoContext(ctx, "another process publishes, so this one stands by", "holder", holder)
	}}
	return f.wrap(f.registry.Alone(ctx, claim, func(ctx context.Context) error {
		if err := f.open(ctx); err != nil {
			return err
		}
		return do(ctx)
	}))
}

// wrap names the consumers, unless the error does so or is not theirs.
func (f *Feed) wrap(err error) error {
	one, all := new(memberError), new(snapshotError)
	switch {
	case err == nil || errors.As(err, &one) || errors.As(err, &all):
		return err
	case len(f.members) == 1:
		return f.members[0].wrap(err)
	}
	return fmt.Errorf("consumers %s: %w", f.names(), err)
}

// open finds out what was published last and which snapshots are still held.
func (f *Feed) open(ctx context.Context) error {
	for _, m := range f.members {
		if err := m.open(ctx); err != nil {
			return m.wrap(err)
		}
	}
	newest, _ := f.newest()
	for _, m := range f.members {
		if err := m.findPins(ctx, newest.Snapshot); err != nil {
			return m.wrap(err)
		}
	}
	return nil
}

// newest gives the epoch that was published last, and whether every consumer has one to go on from.
func (f *Feed) newest() (newest stream.Epoch, all bool) {
	all = true
	for _, m := range f.members {
		last, ok := m.publisher.Last()
		if all = all && ok; ok && last.LastSeq >= newest.LastSeq {
			newest = last
		}
	}
	return newest, all
}

// even gives the newest epochs when one step has led all consumers there: not so after a publisher has died between two of them, or when another consumer
// was added.
func (f *Feed) even() (epochs []stream.Epoch) {
	for _, m := range f.members {
		last, ok := m.publisher.Last()
		if !ok || len(epochs) > 0 && !last.SameStep(epochs[0]) {
			return nil
		}
		epochs = append(epochs, last)
	}
	return epochs
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
