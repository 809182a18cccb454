package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
)

// pipeline is what a config describes: a feed for each consumer, or for all that a sink joins, the workers of the sinks, and the bus between them.
type pipeline struct {
	config   *config.Config
	log      *slog.Logger
	store    storage.Store
	bus      *stream.Bus
	registry *registry.Registry
	feeds    []*feed.Feed
	groups   [][]config.Consumer // by feed
	workers  [][]worker          // by feed
	limits   limits
	hints    *state.Hints
	sinks    []sinks.Sink
	leave    func() // the data directory; nil before it is this process's
}

// worker mirrors a consumer into a sink.
type worker struct {
	*sinks.Worker
	task registry.Task
}

// fullEpochWait is how long a sink without rows waits for the full epoch of the newest snapshot, which takes its time for a large state.
const fullEpochWait = 5 * time.Minute

// inUseFor is how long a run waits for a data directory that another process uses.
const inUseFor = 5 * time.Second

// retryFeed is the longest pause before publishing is tried again.
const retryFeed = 30 * time.Second

// leaseTTL is how long a process that died keeps others from running its sinks, and retryLease the pause after a lease was lost or could not be asked for.
const (
	leaseTTL   = 10 * time.Second
	retryLease = time.Second
)

// retryRefused is how long a worker rests whose target refuses an epoch. Other sinks go on meanwhile.
const retryRefused = time.Minute

func newPipeline(ctx context.Context, c *config.Config, answers map[string]*feed.Answer, log *slog.Logger) (_ *pipeline, err error) {
	p := &pipeline{config: c, log: log, limits: runningLimits(c.Memory)}
	if p.store, err = openStore(&c.Storage); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := os.MkdirAll(tempDir(c), 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if p.bus, err = p.connect(ctx); err != nil {
		return nil, err
	}
	if err := p.occupy(ctx); err != nil {
		return nil, err
	}
	source, err := p.bus.Source(ctx, c.Source.Name)
	if err != nil {
		return nil, err
	}
	if p.registry, err = registry.Open(ctx, source); err != nil {
		return nil, err
	}
	p.groups = c.Groups()
	if c.Role != config.RoleApply {
		if err := p.addFeeds(c, answers, source); err != nil {
			return nil, err
		}
	}
	p.workers = make([][]worker, len(p.groups))
	if c.Role != config.RolePublish {
		return p, p.addSinks(ctx, c, source)
	}
	return p, nil
}

// occupy keeps other processes off the data directory, whose pins and temporary files are this one's, also where the server is elsewhere.
func (p *pipeline) occupy(ctx context.Context) error {
	return patiently(ctx, func() (err error) {
		p.leave, err = stream.Occupy(p.config.DataDir)
		return err
	})
}

// connect waits a while for an embedded server that is in use: a command such as consumers has it for a moment only.
func (p *pipeline) connect(ctx context.Context) (bus *stream.Bus, err error) {
	err = patiently(ctx, func() (err error) {
		bus, err = stream.Connect(ctx, p.busOptions(), p.log)
		return err
	})
	return bus, err
}

// patiently tries again while another process uses a directory.
func patiently(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(inUseFor); ; {
		err := try()
		if !errors.Is(err, stream.ErrInUse) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func tempDir(c *config.Config) string { return filepath.Join(c.DataDir, "tmp") }

func (p *pipeline) busOptions() stream.Options {
	readers := 0
	for _, s := range p.config.Sinks {
		readers += len(s.Consumers)
	}
	o := busOptions(p.config)
	o.Window, o.ReadAhead = p.limits.window, p.limits.ahead/max(readers, 1)
	return o
}

func busOptions(c *config.Config) stream.Options {
	n := c.NATS
	return stream.Options{
		URL: string(n.URL), Prefix: n.Prefix, Name: "statebridge " + c.Source.Name, User: n.User, Password: string(n.Password),
		Creds: n.Creds, NKey: n.NKey, CA: n.TLS.CA, Cert: n.TLS.Cert, Key: n.TLS.Key, Domain: n.Domain, Replicas: n.Replicas,
		Dir: filepath.Join(c.DataDir, "nats"), Listen: n.Listen,
	}
}

func (p *pipeline) addFeeds(c *config.Config, answers map[string]*feed.Answer, source *stream.Source) error {
	pins, err := checkpoint.OpenPins(filepath.Join(c.DataDir, "pins", c.Source.Name), p.store)
	if err != nil {
		return err
	}
	maps, err := parsePathMaps(c.Source.Flink.PathMap)
	if err != nil {
		return err
	}
	if p.hints, err = readHints(c.Source.Flink.Decode); err != nil {
		return &config.FieldError{Path: "source.flink.decode", Reason: err.Error()}
	}
	o := feed.Options{
		Partitions: c.Source.Partitions, Keep: c.NATS.Keep, Holder: holder(),
		Snapshot: p.limits.options(),
	}
	o.Snapshot.PathMap, o.Snapshot.TempDir, o.Snapshot.Hints = maps, tempDir(c), p.hints
	o.Snapshot.Reading.Requests = c.Storage.Requests
	watch := newWatch(c, p.store, p.log)
	for _, group := range p.groups {
		var consumers []feed.Consumer
		for _, consumer := range group {
			fc := feedConsumer(consumer)
			for _, s := range c.Sinks {
				if slices.Contains(s.Consumers, consumer.Name) {
					fc.Sinks = append(fc.Sinks, s.Name)
				}
			}
			fc.Guard = feed.Guard{Percent: cmp.Or(consumer.MaxDeletePercent, c.Source.MaxDeletePercent), Rows: uint64(c.Source.MaxDeleteRows)}
			fc.Answer = answers[consumer.Name]
			consumers = append(consumers, fc)
		}
		p.feeds = append(p.feeds, feed.New(consumers, o, watch, pins, source, p.registry, p.log))
	}
	return nil
}

func feedConsumer(c config.Consumer) feed.Consumer {
	return feed.Consumer{Name: c.Name, Operator: c.Operator, State: c.State, Columns: mappings(c.Columns), Names: rowNames(c)}
}

// rowNames are the names that the config gives to the fields of a SQL row.
func rowNames(c config.Consumer) []checkpoint.RowNames {
	if len(c.ValueColumns) == 0 {
		return nil
	}
	return []checkpoint.RowNames{{Operator: c.Operator, State: c.State, Fields: c.ValueColumns}}
}

func newWatch(c *config.Config, store storage.Store, log *slog.Logger) *feed.Watch {
	f := c.Source.Flink
	w := &feed.Watch{Store: store, Checkpoints: f.Checkpoints, Job: f.Job, Poll: f.Poll, Log: log}
	if f.REST != "" {
		w.REST = &feed.REST{Base: f.REST}
	}
	return w
}

func mappings(columns config.Columns) []state.Mapping {
	var out []state.Mapping
	for _, c := range columns {
		out = append(out, state.Mapping{Name: c.Name, Path: state.Path(c.Path), Text: c.Type == config.Text})
	}
	return out
}

func (p *pipeline) addSinks(ctx context.Context, c *config.Config, source *stream.Source) error {
	for _, s := range c.Sinks {
		target, err := openSink(ctx, s, p.log)
		if err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, err)
		}
		p.sinks = append(p.sinks, target)
		o := sinks.Options{Answer: fullEpochWait}
		if s.Refused == config.DeadLetter {
			if o.Letters, err = registry.OpenLetters(ctx, source); err != nil {
				return err
			}
		}
		for i, group := range p.groups {
			for _, tables := range mirrored(s, c.Source.Name, group) {
				w := sinks.NewWorker(s.Name, target, tables, source, p.registry, p.log, o)
				p.workers[i] = append(p.workers[i], worker{w, registry.Task{Consumer: tables[0].Consumer, Sink: s.Name}})
			}
		}
	}
	return nil
}

// mirrored parts a sink's tables of some consumers into those that change together.
func mirrored(s config.Sink, source string, consumers []config.Consumer) (tables [][]sinks.Table) {
	for _, c := range consumers {
		t := sinks.Table{Consumer: c.Name, Source: source}
		switch {
		case !slices.Contains(s.Consumers, c.Name):
		case s.Joins() && len(tables) > 0:
			tables[0] = append(tables[0], t)
		default:
			tables = append(tables, []sinks.Table{t})
		}
	}
	return tables
}

func (p *pipeline) close() error {
	var errs []error
	for _, s := range p.sinks {
		errs = append(errs, s.Close())
	}
	if p.bus != nil {
		p.bus.Close()
	}
	if p.leave != nil {
		p.leave()
	}
	return errors.Join(errs...)
}

// run follows the source until ctx ends. Whatever fails meanwhile is logged and tried again; only a connection to the bus that is gone for good ends the run.
func (p *pipeline) run(ctx context.Context) error {
	p.log.InfoContext(ctx, "following", "source", p.config.Source.Name, "checkpoints", p.config.Source.Flink.Checkpoints,
		"role", p.config.Role, "consumers", len(p.config.Consumers), "sinks", len(p.sinks), "embedded_server", p.bus.Embedded())
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-p.bus.Closed():
			return errors.New("the connection to NATS is gone for good")
		case <-gctx.Done():
			return nil
		}
	})
	for _, f := range p.feeds {
		g.Go(func() error { p.publish(gctx, f); return nil })
	}
	for _, w := range slices.Concat(p.workers...) {
		g.Go(func() error { p.work(gctx, w); return nil })
	}
	err := g.Wait()
	if ctx.Err() != nil { // asked to stop
		return nil
	}
	return err
}

// publish runs a feed, again and again: the bus may be down for longer than a lease lasts, and another process may have published meanwhile.
func (p *pipeline) publish(ctx context.Context, f *feed.Feed) {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(retryFeed), backoff.WithMaxElapsedTime(0))
	for ctx.Err() == nil {
		began := time.Now()
		err := f.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > retryFeed {
			pause.Reset()
		}
		d := pause.NextBackOff()
		p.log.ErrorContext(ctx, "publishing was interrupted", "error", p.because(err), "retry_in", d)
		p.rest(ctx, d)
	}
}

// because adds what is wrong with the embedded server: without that, its clients just wait in vain.
func (p *pipeline) because(err error) error {
	if why := p.bus.Fault(); why != nil {
		return fmt.Errorf("%w: the embedded server can't store: %w", err, why)
	}
	return err
}

// rest waits so long, and for as long as the embedded server can't store.
func (p *pipeline) rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	p.bus.AwaitStore(ctx)
}

// work runs a worker while no other process runs the same one: two would only get in each other's way.
func (p *pipeline) work(ctx context.Context, w worker) {
	claim := registry.Claim{Task: w.task, Holder: holder(), TTL: leaseTTL, Waiting: func(holder string) {
		p.log.InfoContext(ctx, "another process runs the sink, so this one stands by", "sink", w.task.Sink, "consumer", w.task.Consumer, "holder", holder)
	}}
	for ctx.Err() == nil {
		refused, again := false, retryLease
		err := p.registry.Alone(ctx, claim, func(ctx context.Context) error {
			err := w.Run(ctx)
			refused = err != nil
			return err
		})
		switch {
		case refused:
			again = retryRefused
			p.log.ErrorContext(ctx, "sink refuses the epoch", "error", err, "retry_in", again)
		case ctx.Err() == nil:
			p.log.WarnContext(ctx, "sink waits for its lease", "sink", w.task.Sink, "consumer", w.task.Consumer, "error", p.because(err))
		}
		p.rest(ctx, again)
	}
}

// holder names this process, for people.
func holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
