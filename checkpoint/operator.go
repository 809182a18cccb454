package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/fault"
)

// Operator is one operator of a snapshot: its handles, and the tables in them.
type Operator struct {
	*flink.Operator
	snapshot *Snapshot
	names    map[string][]string // of the fields of rows, by state

	once    sync.Once
	tables  []*Table
	err     error
	mu      sync.Mutex
	sources []source    // to be closed
	expects expectation // of its tables, when the snapshot is about to be compared
	notes   []string
}

// Title names the operator, or the bucket of Fluss that it stands for, in a message.
func (o *Operator) Title() string {
	if o.snapshot.Fluss != nil {
		return o.String()
	}
	return "operator " + o.String()
}

// String gives the uid or the name if the snapshot has one, else the id.
func (o *Operator) String() string {
	switch {
	case o.snapshot.Fluss != nil:
		return o.snapshot.Fluss.String()
	case o.UID != "":
		return o.UID
	case o.Name != "":
		return fmt.Sprintf("%s (%s)", o.ID, o.Name)
	}
	return o.ID
}

// AnyFinished says that at least one subtask has finished.
func (o *Operator) AnyFinished() bool {
	return o.Finished || slices.ContainsFunc(o.Subtasks, func(s flink.Subtask) bool { return s.Finished })
}

// Tables lists the operator's states, by name within a kind. It reads the head of each subtask's state on the first call.
func (o *Operator) Tables(ctx context.Context) ([]*Table, error) {
	o.once.Do(func() {
		o.tables, o.err = o.load(ctx)
		if o.err != nil {
			o.err = fmt.Errorf("%s: %w", o.Title(), o.err)
		}
	})
	return o.tables, o.err
}

// Table finds a state by name. The error names those that there are.
func (o *Operator) Table(ctx context.Context, name string) (*Table, error) {
	tables, err := o.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, t := range tables {
		if t.Name == name {
			return t, nil
		}
		have = append(have, t.Name)
	}
	if o.Finished {
		return nil, fault.Unsupported(o.snapshot.Location, -1, "operator %s: %s", o, o.FinishedNote())
	}
	return nil, &NotFoundError{What: "state", Name: name, In: o.Title(), Have: have}
}
