package checkpoint

import "github.com/statebridge/statebridge/checkpoint/flink"

// Sizes gives the bytes of each operator's state by operator id, in-flight records included. A file that several operators or subtasks
// share is counted once, with the first.
func (s *Snapshot) Sizes() map[string]int64 {
	type extent struct {
		path string
		off  int64
	}
	sizes := map[string]int64{}
	seen := map[extent]bool{}
	for ref := range s.Metadata.StreamHandles() {
		h := ref.Handle
		at := extent{h.Path, h.Offset}
		if h.Kind != flink.Bytes {
			if seen[at] {
				continue
			}
			seen[at] = true
		}
		sizes[ref.Operator.ID] += h.Size
	}
	return sizes
}
