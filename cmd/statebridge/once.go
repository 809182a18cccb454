package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/config"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/stream"
)

const (
	// onceLook is the pause between two looks at the workers, and oncePublish that between two at what they ask of the feed.
	onceLook    = 50 * time.Millisecond
	oncePublish = 500 * time.Millisecond
)

// once publishes what is there and waits until every sink has committed it, but no longer than patience where that gets no further. Consumers
// do not wait for each other, and the errors of all are told.
func (p *pipeline) once(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers errgroup.Group
	errs := make([]error, len(p.feeds))
	var feeds errgroup.Group
	for i := range p.feeds {
		g := &onceGroup{pipeline: p, feed: p.feeds[i], workers: p.workers[i], consumers: p.groups[i], patience: patience}
		feeds.Go(func() error { errs[i] = g.run(ctx, &workers); return nil })
	}
	_ = feeds.Wait()
	for _, class := range p.hints.Unmet() {
		p.log.WarnContext(ctx, "no value needed the hint", "class", class)
	}
	err := joinOnce(errs)
	if err == nil {
		err = ctx.Err()
	}
	cancel()
	_ = workers.Wait() // its errors have been seen by those who waited
	return err
}

// joinOnce is errors.Join, but what is wrong with the snapshots is not said again by each feed.
func joinOnce(errs []error) error {
	said := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || said[err.Error()] {
			return true
		}
		said[err.Error()] = true
		return false
	})...)
}

// onceGroup is a feed with its workers, which are run until all of them stand at what can be published.
type onceGroup struct {
	*pipeline
	feed      *feed.Feed
	workers   []worker
	consumers []config.Consumer
	patience  time.Duration // 0: for ever

	epochs  []stream.Epoch // published last
	behind  error          // more can be published only once a sink has caught up
	failed  error          // the first that kept the feed from publishing
	moved   time.Time      // when something got further, or was on its way
	running bool           // the workers
}

// run publishes and applies in turns: a sink that is far behind keeps the feed back, and sinks may ask for full epochs. What could be published is applied even if not
// all could.
func (g *onceGroup) run(ctx context.Context, workers *errgroup.Group) error {
	g.moved = time.Now()
	for {
		settled := g.running && g.behind == nil && g.failed == nil
		g.publish(ctx)
		if len(g.epochs) == 0 || settled && g.failed != nil && !errors.Is(g.failed, fs.ErrNotExist) { // the latter is of snapshots that went meanwhile
			return g.failed
		}
		if !g.running { // not before: an epoch that a sink refuses may have been replaced just now
			g.running = true
			for _, w := range g.workers {
				workers.Go(func() error { return w.Run(ctx) })
			}
		}
		if done, err := g.apply(ctx); done || err != nil {
			return errors.Join(g.failed, err)
		}
	}
}

// publish leads the feed as far as it goes. No time in it counts as waiting.
func (g *onceGroup) publish(ctx context.Context) {
	epochs, err := g.feed.Once(ctx, g.patience)
	if len(epochs) > 0 {
		if !slices.EqualFunc(epochs, g.epochs, func(a, b stream.Epoch) bool { return a.Chain == b.Chain && a.Number == b.Number }) {
			g.moved = time.Now()
		}
		g.epochs = epochs
	}
	g.behind = nil
	if behind := new(feed.BehindError); errors.As(err, &behind) {
		g.behind = err
	} else if g.failed == nil {
		g.failed = err
	}
}

// apply lets the workers go on, until it is time to look at the feed again. It is done when they have reached all that there is, and gives an error when that will not be.
func (g *onceGroup) apply(ctx context.Context) (done bool, err error) {
	for until := time.Now().Add(oncePublish); ; {
		waiting, failing, stopped := g.look()
		switch {
		case waiting == 0 && stopped != nil:
			return false, stopped
		case waiting == 0 && g.behind == nil:
			return true, nil
		case waiting == 0:
			failing = g.behind
		}
		if failing == nil {
			g.moved = time.Now()
		} else if g.patience > 0 && time.Since(g.moved) > g.patience {
			return false, errors.Join(stopped, fmt.Errorf("consumer %s: not committed by all sinks after %s of trying: %w", consumerNames(g.consumers), g.patience, failing))
		}
		if time.Now().After(until) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(onceLook):
		}
	}
}

// look counts the workers that are still on their way, and gives for what these try again, and why others have stopped short.
func (g *onceGroup) look() (waiting int, failing, stopped error) {
	for _, w := range g.workers {
		reached, err := w.Reached(g.epochs...)
		stopped = errors.Join(stopped, err)
		if !reached && err == nil {
			waiting++
			failing = errors.Join(failing, w.Failing())
		}
	}
	return waiting, failing, stopped
}

func consumerNames(consumers []config.Consumer) string {
	var names []string
	for _, c := range consumers {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
