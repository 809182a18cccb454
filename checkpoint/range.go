package checkpoint

import (
	"fmt"

	"github.com/statebridge/statebridge/state"
)

// KeyGroups is a contiguous range of key groups, both ends included.
type KeyGroups struct{ First, Last int }

func (r KeyGroups) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Len is the number of key groups.
func (r KeyGroups) Len() int { return max(r.Last-r.First+1, 0) }

// Overlaps says whether the two ranges share a key group.
func (r KeyGroups) Overlaps(o KeyGroups) bool { return r.First <= o.Last && o.First <= r.Last }

// Clip gives the part of r within o; it has no key group (First > Last) when they share none.
func (r KeyGroups) Clip(o KeyGroups) KeyGroups {
	return KeyGroups{max(r.First, o.First), min(r.Last, o.Last)}
}

// Partition gives range i of n: how Flink spreads maxParallelism key groups over n subtasks.
func Partition(i, n, maxParallelism int) KeyGroups {
	return KeyGroups{(i*maxParallelism + n - 1) / n, ((i+1)*maxParallelism - 1) / n}
}

// AllKeyGroups is the whole range.
func AllKeyGroups(maxParallelism int) KeyGroups { return KeyGroups{0, maxParallelism - 1} }

// bounds gives the composite keys between which the entries of r lie; a nil bound is open.
func (r KeyGroups) bounds(s *state.Schema) (lower, upper []byte) {
	width := s.PrefixLen()
	if r.Last+1 < 1<<(8*width) {
		upper = prefix(r.Last+1, width)
	}
	return prefix(r.First, width), upper
}

// prefix gives the bytes of a key group before composite keys.
func prefix(keyGroup, width int) []byte {
	return []byte{byte(keyGroup >> 8), byte(keyGroup)}[2-width:]
}
