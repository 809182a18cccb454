package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// BehindError says that nothing more is published before a sink has caught up.
type BehindError struct {
	Consumer, Sink string
	Applied        uint64 // by the sink, as far as the registry knows
	Newest         uint64 // that was published
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("sink %s has applied epoch %d, and %d is the newest: nothing more is published before it has caught up", e.Sink, e.Applied, e.Newest)
}

// refuseBehind gives the error that awaitSinks would wait for, if there is a snapshot to publish.
func (f *Feed) refuseBehind(ctx context.Context) error {
	if _, err := f.next(ctx); err != nil {
		return nil //nolint:nilerr // the step will meet it too
	}
	m, behind, err := f.slowest(ctx)
	if err != nil || m == nil {
		return err
	}
	return m.wrap(behind)
}

// awaitSinks waits until the slowest sink is no more than maxAhead epochs behind, so that a sink that is down for long makes the history coarser
// and not the stream endless.
func (f *Feed) awaitSinks(ctx context.Context) error {
	for logged := false; ; logged = true {
		slow, behind, err := f.slowest(ctx)
		if err != nil || slow == nil {
			return err
		}
		if !logged {
			slow.log.WarnContext(ctx, "waiting for the slowest sink", "sink", behind.Sink, "epoch", behind.Newest, "applied", behind.Applied)
		}
		for _, m := range f.members {
			if _, resync, err := f.registry.Resync(ctx, m.consumer.Name); err != nil || resync {
				return err
			}
		}
		if wait(ctx, f.watch.Poll); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// slowest gives a consumer that a sink is too far behind with; nil when there is none.
func (f *Feed) slowest(ctx context.Context) (*member, *BehindError, error) {
	for _, m := range f.members {
		last, ok := m.publisher.Last()
		if !ok || len(m.consumer.Sinks) == 0 {
			continue
		}
		sink, applied, err := m.applied(ctx, last.Chain, false)
		if err != nil {
			return nil, nil, m.wrap(err)
		}
		if applied+maxAhead < last.Number {
			return m, &BehindError{Consumer: m.consumer.Name, Sink: sink, Applied: applied, Newest: last.Number}, nil
		}
	}
	return nil, nil, nil
}

// applied is the newest epoch that every sink has applied, and the sink that has come no further: those configured here, and with others also those of other processes. One of
// these that has not moved for as long as epochs are kept is taken for removed; should it come back, it gets a full epoch.
func (m *member) applied(ctx context.Context, chain string, others bool) (slowest string, least uint64, err error) {
	positions, err := m.feed.registry.Positions(ctx, m.consumer.Name)
	if err != nil {
		return "", 0, err
	}
	seen := map[string]uint64{}
	for _, name := range m.consumer.Sinks {
		seen[name] = 0
	}
	for _, p := range positions {
		if _, ours := seen[p.Sink]; !ours && (!others || time.Since(p.Time) > m.feed.options.Keep) {
			continue
		}
		if seen[p.Sink] = 0; p.Chain == chain {
			seen[p.Sink] = p.Epoch
		}
	}
	least = ^uint64(0)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if n := seen[name]; n < least {
			slowest, least = name, n
		}
	}
	return slowest, least, nil
}

// trim deletes epochs that every sink has applied and that are old enough.
func (m *member) trim(ctx context.Context) error {
	last, ok := m.publisher.Last()
	if !ok || len(m.published) == 0 || time.Since(m.published[0].time) < m.feed.options.Keep {
		return nil
	}
	_, applied, err := m.applied(ctx, last.Chain, true)
	if err != nil {
		return err
	}
	n := 0
	for n < len(m.published) && m.published[n].number <= applied && time.Since(m.published[n].time) >= m.feed.options.Keep {
		n++
	}
	if n == 0 {
		return nil
	}
	upTo := m.published[n-1].number
	m.published = m.published[n:]
	return m.feed.source.Trim(ctx, m.consumer.Name, upTo)
}
