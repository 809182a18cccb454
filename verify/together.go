package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/statebridge/statebridge/sinks"
)

// Together checks that tables which change together stand at the same snapshot. Their positions are read one after the other, so they count only if they are still
// the same at a second look; while they move they are read again, for as long as wait.
func Together(ctx context.Context, sink sinks.Sink, tables []sinks.Table, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		first, err := positions(ctx, sink, tables)
		if err != nil {
			return err
		}
		second, err := positions(ctx, sink, tables)
		switch {
		case err != nil:
			return err
		case slices.Equal(first, second):
			return sameSnapshot(tables, first)
		case time.Now().After(deadline):
			return fmt.Errorf("the tables move too fast to say whether they stand at one snapshot: %w", sinks.ErrFenced)
		}
	}
}

func positions(ctx context.Context, sink sinks.Sink, tables []sinks.Table) (all []sinks.Position, err error) {
	for _, t := range tables {
		at, err := sink.Position(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("position of %s: %w", t.Consumer, err)
		}
		all = append(all, at)
	}
	return all, nil
}

// sameSnapshot leaves tables out that stand nowhere, which is a fault of its own.
func sameSnapshot(tables []sinks.Table, at []sinks.Position) error {
	first := slices.IndexFunc(at, stands)
	for i := range at {
		if stands(at[i]) && at[i].Snapshot != at[first].Snapshot {
			return fmt.Errorf("tables that change together stand at several snapshots: %s at checkpoint %d of job %s, %s at checkpoint %d of job %s",
				tables[first].Consumer, at[first].Snapshot.CheckpointID, at[first].Snapshot.Job, tables[i].Consumer, at[i].Snapshot.CheckpointID, at[i].Snapshot.Job)
		}
	}
	return nil
}

func stands(at sinks.Position) bool { return at.Chain != "" }
