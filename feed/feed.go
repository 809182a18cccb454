package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

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
	Columns         []state.Mapping // nil: from the state's schema
	Sinks           []string        // names of the sinks that apply it; the feed waits for the slowest
}

// Options tune a feed; the zero value works but for Partitions.
type Options struct {
	Partitions int           // ranges of key groups that are published side by side
	Keep       time.Duration // how long an epoch stays in the stream after every sink has applied it
	Snapshot   checkpoint.Options
	Holder     string // who publishes, for people
	Guard      Guard
	Answer     *Answer // nil: none was given
}

// Feed publishes one consumer.
type Feed struct {
	consumer Consumer
	options  Options
	watch    *Watch
	pins     *checkpoint.Pins
	source   *stream.Source
	registry *registry.Registry
	log      *slog.Logger

	publisher  *stream.Publisher
	base       *checkpoint.Pin      // of the newest epoch's snapshot; nil: the next epoch is a full one
	published  []published          // epochs not trimmed yet, oldest first
	passed     map[string]time.Time // snapshots that can't be read, by address, and when that was seen
	checked    bool                 // that the newest epoch was published under this config
	logged     string               // the snapshot that was warned of last, and of what
	incomplete error                // of the newest snapshot that lacked a file
	question   *registry.Question   // as it was when the step began; nil: nothing is asked
	seen       checkpoint.Found     // the newest snapshot that was found to need an answer
}

type published struct {
	number uint64
	time   time.Time
}

// New makes a feed. Nothing is read or written before Run or Once.
func New(c Consumer, o Options, w *Watch, p *checkpoint.Pins, s *stream.Source, r *registry.Registry, log *slog.Logger) *Feed {
	return &Feed{consumer: c, options: o, watch: w, pins: p, source: s, registry: r, log: log.With("consumer", c.Name), passed: map[string]time.Time{}}
}

const (
	// leaseTTL is how long a publisher that died keeps others out.
	leaseTTL = 10 * time.Second
	// maxBacklog is how many waiting snapshots are published one by one; beyond that the newest is taken at once.
	maxBacklog = 4
	// passedFor is how long a snapshot that can't be read is left alone.
	passedFor = time.Minute
	// maxAhead is how many epochs a feed runs ahead of the slowest sink.
	maxAhead = 8
)

// errNothing says that there is no snapshot to publish.
var errNothing = errors.New("no new complete snapshot")

// Run publishes each new snapshot until ctx ends. Snapshots that can't be read are logged and passed over; an error is one of
// the stream or the pins, or says that the lease is lost. Then Run may be called again.
func (f *Feed) Run(ctx context.Context) error {
	return f.hold(ctx, func(ctx context.Context) error {
		for ctx.Err() == nil {
			err := f.step(ctx)
			switch {
			case err == nil:
				continue // look again at once: there may be a backlog
			case errors.Is(err, errNothing):
				f.options.Answer = nil
			case errors.Is(err, storage.ErrUnavailable):
				f.log.WarnContext(ctx, "the storage does not answer, looking again later", "error", err)
			case passing(err):
				f.log.ErrorContext(ctx, "snapshot passed over, waiting for the next", "error", err)
			default:
				return err
			}
			wait(ctx, f.watch.Poll)
		}
		return nil
	})
}

// Once publishes what complete snapshots there are and gives the newest epoch, also beside an error. The error wraps fs.ErrNotExist when there is neither epoch nor snapshot.
func (f *Feed) Once(ctx context.Context) (epoch stream.Epoch, err error) {
	err = f.hold(ctx, func(ctx context.Context) error {
		for {
			if err = f.step(ctx); err == nil {
				continue
			}
			var ok bool
			epoch, ok = f.publisher.Last()
			if !errors.Is(err, errNothing) {
				return err
			}
			f.options.Answer = nil
			if f.question != nil && f.question.Answer != registry.Keep {
				return &HeldError{*f.question}
			}
			if err := f.stale(ctx); err != nil || ok {
				return err
			}
			return fmt.Errorf("no complete snapshot of the job below %s: %w", f.watch.Checkpoints, fs.ErrNotExist)
		}
	})
	return epoch, err
}

// stale gives an error when the newest snapshot that is still there lacks files: whoever asked for it once would take the one before for it. A
// metadata file that is cut short is a snapshot in the making and no fault.
func (f *Feed) stale(ctx context.Context) error {
	if f.incomplete == nil {
		return nil
	}
	found, err := f.watch.Snapshots(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	if last, ok := f.publisher.Last(); ok && last.Snapshot.Location == found[len(found)-1].Location {
		return nil
	}
	return fmt.Errorf("the newest snapshot is not whole: %w", f.incomplete)
}

// passing says whether err concerns one snapshot and not the feed.
func passing(err error) bool {
	var missing *checkpoint.NotFoundError
	return errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &missing)
}

// hold runs do while this process has the consumer's lease.
func (f *Feed) hold(ctx context.Context, do func(context.Context) error) error {
	claim := registry.Claim{Task: registry.Task{Consumer: f.consumer.Name}, Holder: f.options.Holder, TTL: leaseTTL, Waiting: func(holder string) {
		f.log.InfoContext(ctx, "another process publishes, so this one stands by", "holder", holder)
	}}
	return f.wrap(f.registry.Alone(ctx, claim, func(ctx context.Context) error {
		if err := f.open(ctx); err != nil {
			return err
		}
		return do(ctx)
	}))
}

func (f *Feed) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("consumer %s: %w", f.consumer.Name, err)
	}
	return nil
}

// open finds out what was published last and whether its snapshot is still held.
func (f *Feed) open(ctx context.Context) (err error) {
	if err := f.registry.Register(ctx, registry.Consumer{Name: f.consumer.Name, Operator: f.consumer.Operator, State: f.consumer.State, Time: time.Now()}); err != nil {
		return err
	}
	if f.publisher, err = f.source.Publisher(ctx, f.consumer.Name); err != nil {
		return err
	}
	held, err := f.pins.Held(f.consumer.Name)
	if err != nil {
		return err
	}
	f.base = nil
	last, ok := f.publisher.Last()
	for _, pin := range held {
		if ok && f.base == nil && same(pin.Found, last.Snapshot) {
			f.base = pin
			continue
		}
		if err := pin.Release(); err != nil {
			return err
		}
	}
	if ok && f.base == nil {
		f.log.WarnContext(ctx, "the last published snapshot is no longer held, so the next epoch is a full one", "checkpoint_id", last.Snapshot.CheckpointID)
	}
	return nil
}

func same(f checkpoint.Found, r stream.SnapshotRef) bool {
	return f.ID == r.CheckpointID && f.Location == r.Location && f.Job == r.Job
}

// next chooses the snapshot to publish: the first one after the base, or the newest when many wait or a question is open. Checkpoint ids of
// another job say nothing, and an id that went back means that the job was started anew.
func (f *Feed) next(ctx context.Context) ([]checkpoint.Found, error) {
	found, err := f.watch.Snapshots(ctx)
	found = slices.DeleteFunc(found, func(s checkpoint.Found) bool { return time.Since(f.passed[s.Location]) < passedFor })
	newest := checkpoint.Found{}
	if len(found) > 0 {
		newest = found[len(found)-1]
	}
	if f.waits() {
		found = f.unseen(found)
	}
	if err != nil || len(found) == 0 {
		return nil, cmp.Or(err, errNothing)
	}
	last, ok := f.publisher.Last()
	if !ok || newest.Job != last.Snapshot.Job || newest.ID < last.Snapshot.CheckpointID {
		return newestFirst(found), nil
	}
	var waiting []checkpoint.Found
	for _, s := range found {
		if s.ID > last.Snapshot.CheckpointID {
			waiting = append(waiting, s)
		}
	}
	switch {
	case len(waiting) == 0:
		return nil, errNothing
	case len(waiting) > maxBacklog || f.question != nil:
		return newestFirst(waiting), nil
	}
	return waiting, nil
}

func newestFirst(found []checkpoint.Found) []checkpoint.Found {
	out := make([]checkpoint.Found, 0, len(found))
	for i := len(found) - 1; i >= 0; i-- {
		out = append(out, found[i])
	}
	return out
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
