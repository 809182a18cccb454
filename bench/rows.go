package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// lanes are the partitions of the rows; each has a goroutine that publishes it, as a feed has.
const lanes = 4

// benchRows are the rows of a full epoch: six columns, about 130 bytes of JSON.
func benchRows(n int) []stream.Change {
	changes := sinktest.BenchChanges('r', n, 0)
	pack(changes)
	return changes
}

// pack puts the bytes of all changes into one object, so that the garbage collector has not a million to look after while something is measured.
func pack(changes []stream.Change) {
	size := 0
	for _, c := range changes {
		size += len(c.Key) + len(c.After)
	}
	all := make([]byte, 0, size)
	keep := func(b []byte) []byte {
		all = append(all, b...)
		return all[len(all)-len(b):]
	}
	for i, c := range changes {
		changes[i].Key, changes[i].After = keep(c.Key), keep(c.After)
	}
}

// benchDelta changes a tenth of n rows, another tenth with each step. Of ten changes eight are updates; one deletes a row, and one makes that which
// the step before has deleted anew.
func benchDelta(n, step int) (changes []stream.Change) {
	before, after := sinktest.BenchChanges('u', n, step-1), sinktest.BenchChanges('u', n, step)
	for i := step; i < n; i += 10 {
		c := after[i]
		c.Before = before[i].After
		switch i / 10 % 10 {
		case 8:
			c.Op, c.After = 'd', nil
		case 9:
			if step == 1 {
				break
			}
			c = after[i-11] // of the step before
			c.Op = 'c'
		}
		changes = append(changes, c)
	}
	return changes
}

func fullEpoch(number int64) stream.Epoch {
	return stream.Epoch{
		Full: true, Snapshot: stream.SnapshotRef{Job: "5f3c0a2e9b7d41c88e6a1d0f2b4c6e80", CheckpointID: number, Location: "file:/checkpoints/chk-7"},
		Columns: sinktest.BenchColumns, Partitions: lanes, Operator: "0a448493b4782967b150582570326227", State: "accounts",
	}
}

func deltaEpoch(number int64) stream.Epoch {
	e := fullEpoch(number)
	e.Full = false
	return e
}

// publishChanges makes an epoch of changes.
func publishChanges(ctx context.Context, p *stream.Publisher, e stream.Epoch, changes []stream.Change) (stream.Epoch, error) {
	w, err := p.Begin(ctx, e)
	if err != nil {
		return e, err
	}
	defer w.Abort()
	g, gctx := errgroup.WithContext(ctx)
	for lane := range lanes {
		g.Go(func() error {
			for _, c := range changes[lane*len(changes)/lanes : (lane+1)*len(changes)/lanes] {
				c.Partition = lane
				if err := w.Append(gctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return e, err
	}
	return w.Commit(ctx)
}
