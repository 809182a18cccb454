package checkpoint_test

import (
	"maps"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/flink"
)

// TestSharedFilesCountOnce: subtasks that refer to the same segment of a merged file add it once; other segments of that file are other bytes, and an empty one is none.
func TestSharedFilesCountOnce(t *testing.T) {
	segment := func(offset, size int64) *flink.KeyGroupsHandle {
		return &flink.KeyGroupsHandle{Stream: &flink.StreamHandle{Kind: flink.Segment, Path: "file:/jobs/taskowned/merged", Offset: offset, Size: size}}
	}
	empty := &flink.KeyGroupsHandle{Stream: &flink.StreamHandle{Kind: flink.EmptySegment}}
	inline := &flink.KeyGroupsHandle{Stream: &flink.StreamHandle{Kind: flink.Bytes, Path: "x", Size: 3}}
	operator := func(id string, handles ...flink.KeyedHandle) flink.Operator {
		o := flink.Operator{ID: id}
		for i, h := range handles {
			o.Subtasks = append(o.Subtasks, flink.Subtask{Index: i, ManagedKeyed: h})
		}
		return o
	}
	snap := &checkpoint.Snapshot{Metadata: &flink.Metadata{Operators: []flink.Operator{
		operator("a", segment(0, 100), segment(100, 50), segment(0, 100), empty),
		operator("b", segment(100, 50), inline, inline, empty),
	}}}
	if got, want := snap.Sizes(), map[string]int64{"a": 150, "b": 6}; !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}
