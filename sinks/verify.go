package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/stream"
)

// Verifier is a Sink that can tell where its rows differ from those that it should hold, and put them right.
type Verifier interface {
	Sink
	// Verify begins to compare a table with the rows of the epoch that it stands at. ErrFenced: it stands elsewhere, or somebody is writing to it.
	// tempDir takes what does not fit memory; "" is the system's.
	Verify(ctx context.Context, t Table, at Position, tempDir string) (Verification, error)
	// Mend puts the rows right that are named, in one transaction that begins only if the target still stands at the position; else ErrFenced.
	// The epoch stays the same, the revision grows; rows is how many there are then. The table has been prepared. ErrAgain: as with Commit.
	Mend(ctx context.Context, t Table, at Position, rows uint64, differences []Difference) error
}

// Verification compares rows and changes none. What it tells holds only once Rest has given nil.
type Verification interface {
	// Expect takes rows that the table should hold, each once and as changes with Key and After, some thousands a call, and tells of those that are missing or different.
	// A row that the target can't hold is missing.
	Expect(ctx context.Context, rows []stream.Change, tell func(Difference) error) error
	// Rest tells of the rows that nobody expected. ErrFenced: the target has moved meanwhile.
	Rest(ctx context.Context, tell func(Difference) error) error
	// Close gives up what the comparison holds.
	Close(ctx context.Context) error
}

// How a row may differ.
const (
	Missing   = "missing"   // the target lacks it
	Different = "different" // it has other values
	Extra     = "extra"     // the state lacks it
)

// Difference is one row that is not as it should be. The bytes are valid during the call that tells of it, and JSON.
type Difference struct {
	Kind    string
	Key     []byte   // the key columns; of an extra row in Redis, its key as one string
	Columns []string // that differ
	Want    []byte   // the row as it should be; nil when it is extra
	Have    []byte   // the row as the target shows it; nil when it is missing
}

// Unheld is the difference of a row that the target can't hold, so that it is not there for sure; what may be there in its place is extra.
func Unheld(c stream.Change) Difference { return Difference{Kind: Missing, Key: c.Key, Want: c.After} }

// Mend puts rows right by an epoch that leads from a position to itself: what all targets can do whose extra rows have key columns.
func Mend(ctx context.Context, s Sink, t Table, at Position, rows uint64, differences []Difference) (err error) {
	tx, err := s.Begin(ctx, t, at, Stay(t, at, rows))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
	}()
	changes := make([]stream.Change, len(differences))
	for i, d := range differences {
		changes[i] = stream.Change{Op: 'u', Key: d.Key, After: d.Want}
		if d.Kind == Extra {
			changes[i].Op = 'd'
		}
	}
	if err := tx.Apply(ctx, changes); err != nil {
		return fmt.Errorf("putting rows right: %w", err)
	}
	return tx.Commit(ctx)
}

// Stay is the epoch that leads from a position to itself.
func Stay(t Table, at Position, rows uint64) stream.Epoch {
	return stream.Epoch{
		Source: t.Source, Consumer: t.Consumer, Chain: at.Chain, Number: at.Epoch, Base: &at.Snapshot, Snapshot: at.Snapshot, Columns: t.Columns, Rows: &rows,
	}
}
