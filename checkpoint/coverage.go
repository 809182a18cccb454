package checkpoint

import (
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/fault"
)

// covers checks that the keyed state of a subtask is for the key groups that Flink gives it. The metadata has no checksum, and a range that
// was damaged would hide rows, which the next diff would take for deleted.
func (o *Operator) covers(s *flink.Subtask) error {
	if s.ManagedKeyed == nil && s.RawKeyed == nil {
		return nil
	}
	if s.Index < 0 || s.Index >= o.Parallelism || o.Parallelism > o.MaxParallelism {
		return fault.Corrupt(o.snapshot.Location, -1, "the metadata has keyed state of subtask %d of %d, and %d key groups", s.Index, o.Parallelism, o.MaxParallelism)
	}
	own := Partition(s.Index, o.Parallelism, o.MaxParallelism)
	for _, h := range []flink.KeyedHandle{s.ManagedKeyed, s.RawKeyed} {
		if h == nil {
			continue
		}
		if r := KeyGroups(h.KeyGroupRange()); r != own {
			return o.wrongRange(r, "it has %s", own)
		}
		logged, ok := h.(*flink.ChangelogHandle)
		if !ok {
			continue
		}
		for _, list := range [][]flink.KeyedHandle{logged.Materialized, logged.Deltas} {
			for _, part := range list { // these can be from before the job was rescaled
				if r := KeyGroups(part.KeyGroupRange()); !r.ofSomeParallelism(o.MaxParallelism) {
					return o.wrongRange(r, "no parallelism gives a subtask these")
				}
			}
		}
	}
	return nil
}

func (o *Operator) wrongRange(r KeyGroups, why string, args ...any) error {
	return fault.Corrupt(o.snapshot.Location, -1, "the metadata has state for key groups %s of %d, and "+why, append([]any{r, o.MaxParallelism}, args...)...)
}

// ofSomeParallelism says whether a subtask of a job with so many key groups can have this range.
func (r KeyGroups) ofSomeParallelism(maxParallelism int) bool {
	if r.Len() == 0 || r.First < 0 || r.Last >= maxParallelism {
		return false
	}
	// A subtask of n has maxParallelism/n key groups, rounded down or up.
	for n := maxParallelism / (r.Len() + 1); n <= maxParallelism/max(r.Len()-1, 1)+1; n++ {
		if n < 1 || n > maxParallelism {
			continue
		}
		if i := r.First * n / maxParallelism; Partition(i, n, maxParallelism) == r || i+1 < n && Partition(i+1, n, maxParallelism) == r {
			return true
		}
	}
	return false
}
