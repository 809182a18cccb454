package sinks

import (
	"context"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/stream"
)

// Table is what one consumer mirrors. A target names its table after the consumer.
type Table struct {
	Consumer string
	Source   string
	Columns  []stream.Column // of the epoch at hand; those with Key identify a row
	// Refused keeps a row that the target can't hold, so that its epoch goes on without it; nil, or an error, refuses the epoch.
	Refused func(ctx context.Context, c stream.Change, why *RowError) error
}

// Position says how far a target has come. The zero Position asks for a full epoch.
type Position struct {
	Chain    string
	Epoch    uint64
	Snapshot stream.SnapshotRef
	// Revision counts what was ever committed. It is the guard of the next transaction, and is set even where the
	// rest is zero because the rows were lost.
	Revision uint64
	Lost     string // why the rest is zero although Revision is not, where the target can tell
}

// What Position.Lost may say.
const (
	TableDropped = "the table was dropped"
	TableEmpty   = "the table is empty"
	PositionGone = "the position is gone"
	// KeptOtherwise: another setting put the rows elsewhere.
	KeptOtherwise = "the rows were kept in another way"
)

// Sink is one target. It is safe for concurrent use by workers of different consumers.
type Sink interface {
	// Prepare checks that the target can take the columns and creates or widens what Statebridge owns there. All that is wrong is
	// named at once, by a PermanentError.
	Prepare(ctx context.Context, t Table) error
	// Position reads where the target stands: zero but for Revision and Lost when it has no rows of ours, be it for the first time or because they were lost.
	Position(ctx context.Context, t Table) (Position, error)
	// Begin starts to move the target from the position it was seen at to an epoch; ErrFenced when it stands elsewhere, or
	// has lost the rows that an epoch which is not full builds on.
	// A full epoch replaces all rows. An epoch that is not full and gets no changes just moves the position. The table has been prepared.
	Begin(ctx context.Context, t Table, from Position, to stream.Epoch) (Transaction, error)
	Close() error
}

// Transaction applies one epoch. After an error, and after Commit, only Rollback may be called.
type Transaction interface {
	// Apply takes changes in order; it does not keep them.
	Apply(ctx context.Context, changes []stream.Change) error
	// Commit makes rows and position visible. Whether an error came before or after that, only Position can tell.
	Commit(ctx context.Context) error
	// Rollback gives up what is not committed. After Commit it does nothing.
	Rollback(ctx context.Context) error
}

// Joint is a Transaction that can take more than one epoch, of one table or of several; what they change becomes visible all at once. Sinks whose
// transactions are Joint can be joined.
type Joint interface {
	Transaction
	// Finish ends the epoch at hand as Commit does, but for making it visible.
	Finish(ctx context.Context) error
	// Then begins the next epoch, as Sink.Begin does.
	Then(ctx context.Context, t Table, from Position, to stream.Epoch) error
}

// ErrFenced says that the target is no longer as it was when its position was read: another worker wrote to it, or its rows were lost.
var ErrFenced = errors.New("the target has moved since its position was read")

// ErrAgain says that the target has refused a row without saying which. Applied again, the epoch is refused by name, or goes on without the row.
var ErrAgain = errors.New("the next attempt looks for the row")

// ErrNullKey is why a row is refused whose key has a null in it: no target tells rows apart by a null.
var ErrNullKey = errors.New("a key column is null; with `columns: {key: key, …}` the consumer keeps the whole key, nulls and all, in one column")

// PermanentError is one that a retry can't mend.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent marks an error, nil excepted.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// RowError names a row that a target can't hold. It says where the row is found and why it is refused, never what it holds.
type RowError struct {
	Consumer   string
	Checkpoint int64
	Epoch      uint64
	Partition  int
	Seq        uint64
	Column     string // "" when no single column is to blame
	Reason     string
}

func (e *RowError) Error() string {
	column := ""
	if e.Column != "" {
		column = fmt.Sprintf(", column %q", e.Column)
	}
	return fmt.Sprintf("consumer %q: the row at partition %d, sequence %d of epoch %d (checkpoint %d)%s can't be held by the target: %s",
		e.Consumer, e.Partition, e.Seq, e.Epoch, e.Checkpoint, column, e.Reason)
}

// Refuse makes the permanent error for a change of an epoch.
func Refuse(t Table, to stream.Epoch, c stream.Change, column, reason string) error {
	return Permanent(&RowError{
		Consumer: t.Consumer, Checkpoint: to.Snapshot.CheckpointID, Epoch: to.Number,
		Partition: c.Partition, Seq: c.Seq, Column: column, Reason: reason,
	})
}
