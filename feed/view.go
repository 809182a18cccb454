package feed

import (
	"context"
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
)

// view is a consumer's table in a snapshot, and what keeps it from being all of its rows.
type view struct {
	*checkpoint.Table       // nil when there is none
	missing           error // why there is none
	finished          int   // subtasks that have ended, so that their rows are in no snapshot any more
}

// find looks for the consumer's table. That it is not there is no error here.
func (m *member) find(ctx context.Context, snap *checkpoint.Snapshot) (v view, err error) {
	o, err := snap.Operator(m.consumer.Operator)
	if err == nil {
		v.finished = finishedSubtasks(o)
		v.Table, err = o.Table(ctx, m.consumer.State)
	}
	missing := new(checkpoint.NotFoundError)
	if errors.As(err, &missing) || errors.Is(err, fault.ErrUnsupported) && o != nil && o.Finished {
		v.missing, err = err, nil
	}
	return v, err
}

func finishedSubtasks(o *checkpoint.Operator) int {
	if o.Finished {
		return max(o.Parallelism, 1)
	}
	n := 0
	for _, s := range o.Subtasks {
		if s.Finished {
			n++
		}
	}
	return n
}

// doubt gives what must be answered before a view may be published: rows that a snapshot lacks may have been left out and not deleted. It is an error to
// begin with a table that is not there.
func (m *member) doubt(v view, base func() (view, error)) error {
	last, ok := m.publisher.Last()
	switch {
	case v.missing == nil && v.finished == 0:
		return nil
	case v.missing != nil && (!ok || last.Rows != nil && *last.Rows == 0 && !m.mirrored(last.Operator, last.State)):
		return v.missing
	case ok && last.Rows != nil && *last.Rows == 0: // there is nothing that could get lost
		return nil
	case v.finished > 0 && v.missing == nil && m.base != nil:
		if b, err := base(); err == nil && b.Table != nil && b.finished >= v.finished {
			return nil // no more of them than when it was asked before
		}
	}
	q := registry.Question{Kind: registry.SubtaskFinished, Text: fmt.Sprintf("%d subtasks of operator %s have finished, and their rows are in no snapshot any more", v.finished, m.consumer.Operator)}
	if v.finished == 0 {
		q.Kind, q.Text = registry.StateMissing, v.missing.Error()
	}
	if ok && last.Rows != nil {
		q.Rows = *last.Rows
		if v.missing != nil {
			q.Deletes = q.Rows
		}
	}
	return &HeldError{q}
}

// mirrored says whether an epoch's operator and state are those that the config names, as far as can be told where they are no longer there.
func (m *member) mirrored(operator, name string) bool {
	return name == m.consumer.State && (operator == m.consumer.Operator || operator == state.OperatorID(m.consumer.Operator))
}
