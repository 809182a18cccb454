package feed

import (
	"context"
	"time"
)

// awaitSinks waits until the slowest sink is no more than maxAhead epochs behind, so that a sink that is down for long makes the history coarser
// and not the stream endless.
func (f *Feed) awaitSinks(ctx context.Context) error {
	for logged := false; ; logged = true {
		last, ok := f.publisher.Last()
		if !ok || len(f.consumer.Sinks) == 0 {
			return nil
		}
		applied, err := f.applied(ctx, last.Chain, false)
		if err != nil || applied+maxAhead >= last.Number {
			return err
		}
		if _, resync, err := f.registry.Resync(ctx, f.consumer.Name); err != nil || resync {
			return err
		}
		if !logged {
			f.log.WarnContext(ctx, "waiting for the slowest sink", "epoch", last.Number, "applied", applied)
		}
		if wait(ctx, f.watch.Poll); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// applied is the newest epoch that every sink has applied: those configured here, and with others also those of other processes. One of
// these that has not moved for as long as epochs are kept is taken for removed; should it come back, it gets a full epoch.
func (f *Feed) applied(ctx context.Context, chain string, others bool) (uint64, error) {
	positions, err := f.registry.Positions(ctx, f.consumer.Name)
	if err != nil {
		return 0, err
	}
	seen := map[string]uint64{}
	for _, name := range f.consumer.Sinks {
		seen[name] = 0
	}
	for _, p := range positions {
		if _, ours := seen[p.Sink]; !ours && (!others || time.Since(p.Time) > f.options.Keep) {
			continue
		}
		if seen[p.Sink] = 0; p.Chain == chain {
			seen[p.Sink] = p.Epoch
		}
	}
	least := ^uint64(0)
	for _, n := range seen {
		least = min(least, n)
	}
	return least, nil
}

// trim deletes epochs that every sink has applied and that are old enough.
func (f *Feed) trim(ctx context.Context) error {
	last, ok := f.publisher.Last()
	if !ok || len(f.published) == 0 || time.Since(f.published[0].time) < f.options.Keep {
		return nil
	}
	applied, err := f.applied(ctx, last.Chain, true)
	if err != nil {
		return err
	}
	n := 0
	for n < len(f.published) && f.published[n].number <= applied && time.Since(f.published[n].time) >= f.options.Keep {
		n++
	}
	if n == 0 {
		return nil
	}
	upTo := f.published[n-1].number
	f.published = f.published[n:]
	return f.source.Trim(ctx, f.consumer.Name, upTo)
}
