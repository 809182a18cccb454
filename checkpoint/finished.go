package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FinishedGroups gives the key groups whose state went with finished subtasks: it is in no snapshot any more. That must not be taken for the deletion of their rows.
func (o *Operator) FinishedGroups() []KeyGroups {
	if o.Operator.Finished {
		return []KeyGroups{AllKeyGroups(o.MaxParallelism)}
	}
	var gone []KeyGroups
	for _, s := range o.Subtasks {
		if s.Finished {
			gone = append(gone, Partition(s.Index, o.Parallelism, o.MaxParallelism))
		}
	}
	slices.SortFunc(gone, func(a, b KeyGroups) int { return cmp.Compare(a.First, b.First) })
	return gone
}

// FinishedNote tells a person which of the operator's state went with finished subtasks; "" if none.
func (o *Operator) FinishedNote() string {
	const meaning = "which does not mean that its rows were deleted"
	gone := o.FinishedGroups()
	switch {
	case o.Operator.Finished:
		return "the operator has finished: none of its state is in the snapshot, " + meaning
	case len(gone) == 0:
		return ""
	}
	var groups []string
	for _, g := range gone {
		groups = append(groups, g.String())
	}
	return fmt.Sprintf("%d of %d subtasks have finished: the state of key groups %s is not in the snapshot, %s",
		len(gone), o.Parallelism, strings.Join(groups, ", "), meaning)
}

// Without gives what of r is in none of the others, which ascend.
func (r KeyGroups) Without(others []KeyGroups) []KeyGroups {
	var left []KeyGroups
	for _, o := range others {
		if !r.Overlaps(o) {
			continue
		}
		if before := (KeyGroups{r.First, o.First - 1}); before.Len() > 0 {
			left = append(left, before)
		}
		r.First = max(r.First, o.Last+1)
	}
	if r.Len() > 0 {
		left = append(left, r)
	}
	return left
}
