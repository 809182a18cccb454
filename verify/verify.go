package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/stream"
)

// Check is one table of one target.
type Check struct {
	Sink      sinks.Verifier
	Source    string
	Consumer  feed.Consumer
	Snapshots *Snapshots
	Repair    bool
	Wait      time.Duration // for a target that moves, or stands at a snapshot that is gone, before giving up
	TempDir   string
	MendRows  int // put right in one transaction; 0: 100,000
	Log       *slog.Logger
}

// Result is what came out.
type Result struct {
	Epoch                     uint64
	Snapshot                  stream.SnapshotRef // that the target stood at
	Rows                      uint64             // that it should hold
	Missing, Different, Extra uint64
	Mended                    uint64
}

// Differences is their number.
func (r Result) Differences() uint64 { return r.Missing + r.Different + r.Extra }

const (
	retryEvery = 250 * time.Millisecond
	// batchRows and batchBytes bound what is compared at once.
	batchRows  = 4000
	batchBytes = 4 << 20
	// mendRows and mendBytes bound what is put right in one transaction, since it waits in memory.
	mendRows  = 100_000
	mendBytes = 64 << 20
)

// Run compares, and tells of every difference once the comparison has ended; with Repair it puts them right, and what is told is what it found.
func (c *Check) Run(ctx context.Context, tell func(sinks.Difference) error) (Result, error) {
	result, err := c.round(ctx, tell)
	left := result.Differences() - result.Mended
	for mended := result.Mended; c.Repair && err == nil && left > 0 && mended > 0; { // what the target can't hold is left in the end
		var more Result
		more, err = c.round(ctx, func(sinks.Difference) error { return nil })
		mended = more.Mended
		result.Mended += mended
		left = more.Differences() - mended
	}
	return result, err
}

// round compares once, and again where the target moves away or its snapshot is deleted.
func (c *Check) round(ctx context.Context, tell func(sinks.Difference) error) (Result, error) {
	deadline := time.Now().Add(c.Wait)
	for {
		result, found, err := c.compare(ctx)
		if err == nil {
			return result, errors.Join(found.each(tell), found.close())
		}
		switch {
		case errors.Is(err, sinks.ErrFenced) && time.Now().After(deadline):
			return result, fmt.Errorf("%w, again and again for %s: more patience may help, or `run`, if a process has died while it was writing", err, c.Wait)
		case !c.passes(err) || time.Now().After(deadline):
			return result, err
		}
		c.Log.InfoContext(ctx, "compared again", "reason", err)
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

// passes says whether it is worth to look again: the target has moved, its snapshot is gone and it will stand at a newer one soon, or it is behind the one that was asked for.
func (c *Check) passes(err error) bool {
	other := new(OtherError)
	return errors.Is(err, sinks.ErrFenced) || errors.Is(err, fs.ErrNotExist) && c.Snapshots.Only == "" || errors.As(err, &other) && other.ID > other.Target.CheckpointID
}

// compare is one comparison, with the repair of what it found. The differences wait in a file, which the caller closes.
func (c *Check) compare(ctx context.Context) (r Result, found *spool, err error) {
	at, err := c.Sink.Position(ctx, sinks.Table{Consumer: c.Consumer.Name, Source: c.Source})
	if err != nil {
		return r, nil, err
	}
	if at.Chain == "" {
		return r, nil, fmt.Errorf("the target stands at no epoch%s, and `run` gives it a full one", because(at.Lost))
	}
	r.Epoch, r.Snapshot = at.Epoch, at.Snapshot
	o := c.Snapshots.Options
	o.Names = c.Consumer.Names
	snap, err := c.Snapshots.open(ctx, c.Consumer.Name, c.Consumer.Operator, at.Snapshot, o)
	if err != nil {
		return r, nil, fmt.Errorf("snapshot of the target's epoch %d: %w", at.Epoch, err)
	}
	defer func() { err = errors.Join(err, snap.close()) }()
	table, err := snap.Table(ctx, c.Consumer.Operator, c.Consumer.State)
	if err != nil {
		return r, nil, err
	}
	columns, wire, err := c.Consumer.Project(table.Schema())
	if err != nil {
		return r, nil, err
	}
	if found, err = newSpool(c.TempDir); err != nil {
		return r, nil, err
	}
	t := sinks.Table{Consumer: c.Consumer.Name, Source: c.Source, Columns: wire}
	err = c.rows(ctx, t, at, table, columns, &r, found)
	if err == nil && c.Repair && r.Differences() > 0 {
		err = c.mend(ctx, t, at, &r, found)
	}
	if err != nil {
		err = errors.Join(err, found.close())
	}
	return r, found, err
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// rows hands the rows of the snapshot to the sink's verification.
func (c *Check) rows(ctx context.Context, t sinks.Table, at sinks.Position, table *checkpoint.Table, columns []state.Column, r *Result, found *spool) (err error) {
	v, err := c.Sink.Verify(ctx, t, at, c.TempDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close(context.WithoutCancel(ctx))) }()
	note := func(d sinks.Difference) error {
		switch d.Kind {
		case sinks.Missing:
			r.Missing++
		case sinks.Extra:
			r.Extra++
		default:
			r.Different++
		}
		return found.add(d)
	}
	project, b := state.NewProjection(columns), batch{}
	for row, err := range table.Rows(ctx, checkpoint.AllKeyGroups(table.MaxParallelism())) {
		if err != nil {
			return err
		}
		if err := b.add(project, row); err != nil {
			return err
		}
		r.Rows++
		if b.full() {
			if err := v.Expect(ctx, b.rows, note); err != nil {
				return err
			}
			b.reset()
		}
	}
	if err := v.Expect(ctx, b.rows, note); err != nil {
		return err
	}
	return v.Rest(ctx, note)
}

// batch holds rows in one buffer.
type batch struct {
	rows []stream.Change
	text []byte
}

func (b *batch) full() bool { return len(b.rows) >= batchRows || len(b.text) >= batchBytes }

func (b *batch) reset() { b.rows, b.text = b.rows[:0], b.text[:0] }

func (b *batch) add(project *state.Projection, row *state.Row) (err error) {
	c := stream.Change{Op: 'r', Seq: uint64(len(b.rows) + 1)}
	start := len(b.text)
	if b.text, err = project.AppendKey(b.text, row); err != nil {
		return err
	}
	c.Key = b.text[start:len(b.text):len(b.text)] // a buffer that grows leaves these bytes behind, still whole
	start = len(b.text)
	if b.text, err = project.AppendRow(b.text, row); err != nil {
		return err
	}
	c.After = b.text[start:len(b.text):len(b.text)]
	b.rows = append(b.rows, c)
	return nil
}

// mend puts right what fits memory, but for rows that the target can't hold; the next round finds the rest.
func (c *Check) mend(ctx context.Context, t sinks.Table, at sinks.Position, r *Result, found *spool) error {
	var list []sinks.Difference
	size := 0
	err := found.each(func(d sinks.Difference) error {
		if size += len(d.Key) + len(d.Want); len(list) < cmp.Or(c.MendRows, mendRows) && (size <= mendBytes || len(list) == 0) {
			d.Have = nil
			list = append(list, d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Sink.Prepare(ctx, t); err != nil {
		return err
	}
	unheld := map[string]bool{}
	t.Refused = func(_ context.Context, change stream.Change, _ *sinks.RowError) error {
		unheld[string(change.Key)] = true
		return nil
	}
	err = c.Sink.Mend(ctx, t, at, r.Rows, list)
	if errors.Is(err, sinks.ErrAgain) {
		err = c.Sink.Mend(ctx, t, at, r.Rows, list)
	}
	if err != nil {
		return err
	}
	r.Mended = uint64(len(list) - len(unheld))
	return nil
}
