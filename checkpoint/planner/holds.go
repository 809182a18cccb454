package planner

import (
	"regexp"

	"github.com/statebridge/statebridge/state"
)

// Shape is what the layout of a state tells beyond its name.
type Shape struct {
	MapKey, Value *state.Type // nil where there is none
}

func holds(list ...holding) []holding { return list }

func always(pattern, text string) holding {
	return holding{regexp.MustCompile("^(?:" + pattern + ")$"), func(Shape) string { return text }}
}

func row(t *state.Type) bool {
	return t != nil && (t.Kind == state.Tuple || t.Kind == state.Object)
}

var (
	accumulators     = always("accState", "accumulators of the aggregates, in the order of the query")
	distinct         = always(`distinctAcc_\d+`, "values seen by a DISTINCT aggregate, and how often each")
	distinctNull     = always(`distinctAcc_\d+_null_state`, "how often NULL was seen by a DISTINCT aggregate")
	mapView          = always(`agg\d+\$.*`, "a map or list that belongs to the accumulator of one aggregate")
	windowAggregates = always("window-aggs", "accumulators of the aggregates by window, in the order of the query")
	sessions         = always("session-window-mapping", "session windows, and the one under whose namespace each one's accumulators are")
	windowBefore     = always("previous-aggs", "what was emitted of the window last")
	windowFired      = always("eventTime-afterEOW", "whether the window was emitted at its end")
	windowFires      = always(`processingTime-every-\d+`, "time at which the window is emitted next")
	windowRows       = always(`trigger-count-\d+`, "how many rows the window has")
	windowCount      = always("(tumble|slide)-count-assigner", "how many rows the key had")
	sessionRows      = always("session-window-tvf-acc", "rows of the session by number of arrival")
	sessionNumber    = always("session-window-tvf-counter", "how many rows the key had")
	waitingRows      = always("_async_wait_operator_state_", "rows that wait for an answer, and the watermarks between them")
	waitingKeyed     = always("_keyed_async_wait_operator_state_", "rows of the key that wait for an answer")
	waitingDelta     = always("_delta_join_operator_async_wait_state_", "rows of the key that wait for an answer, each in the place of its input, and the number of that")
	lookedUp         = always("unique-value", "what was found for the row of the key")
	lookedUpAll      = always("values", "what was found for the rows of the key")
	namedTimers      = always("internal-named-timers-map", "timers of the function by name")
	functionState    = always(".*", "state of the function, named after its parameter")
	watermark        = always("watermark", "the watermark of each subtask")
	overInput        = always("inputState", "rows by time that frames still reach")
	overCleanup      = always("cleanupTsState", "time at which the accumulators are cleaned up")
	overOldest       = always("smallestTSState", "time of the oldest row that frames still reach")
	overSorted       = always("sortedListState", "sort keys in order, and numbers of the rows that have each")
	overRows         = always("valueMapState", "rows by their numbers")
	overNumber       = always("idState", "number of the next row")
	overByKey        = always("accMapState", "accumulators of the aggregates by sort key, in the order of the query")
	overTriggered    = always("lastTriggeringTsState", "time of the last row that was emitted")
	overCount        = always("processedCountState", "number of rows that were emitted")
	intervalCache    = always("IntervalJoin(Left|Right)Cache", "rows of one input by time, and whether each was emitted")
	intervalTimer    = always("IntervalJoin(Left|Right)TimerState", "time at which rows of one input are cleaned up next")
	temporalTimer    = always("next-index|timer", "bookkeeping of the operator")
	rankOrder        = always("sorted-map", "sort keys, and how many rows have each")
	rankEnd          = always("rankEnd", "N, where a column gives it")
	windowRank       = always("window_rank", "rows of the window by sort key")
	top1             = always("Top1-Rank-State", "the first row")
	joinSide         = holding{regexp.MustCompile("^(left|right)-records$"), joinText}
	windowSide       = always("(left|right)-records", "rows of one input in the window")
	multiJoin        = holding{regexp.MustCompile(`^multi-join-input-\d+$`), joinText}
	rankData         = always("data-state.*", "rows of the partition by sort key or unique key")
	temporalSide     = holding{regexp.MustCompile("^(left|right)$"), func(Shape) string { return "rows of one input, by number of arrival or by time of version" }}
	normalized       = always("deduplicate-state", "the newest row of the key")
	materialized     = always("list|values", "the rows of the key in order of arrival")
	linkedRows       = always("sqnToNodeState", "the rows of the key by number of arrival, and the numbers before and behind")
	linkedNumbers    = always("rowToSqnState", "the first and last number of each row or upsert key")
	linkedHighest    = always("highestSqnState", "the highest number, and how many rows there are")
	compacted        = always("current-value", "the row of the key")
	compactedBuffer  = always("watermark-buffer", "rows by time that the watermark has not passed")
	compactedAt      = always("consolidated-checkpoint-id", "bookkeeping of the operator")
	sorted           = always("dataState", "rows by time that the watermark has not passed")
	matches          = always("nfaStateName", "matches of the pattern that have begun")
	matchQueue       = always("eventQueuesStateName", "rows by time that the watermark has not passed")
	matchRows        = always("sharedBuffer-events", "rows that matches use, by number, with the number of uses")
	matchEdges       = always("sharedBuffer-entries-with-lockable-edges", "which row follows which in a match, by row and stage")
	matchCount       = always("sharedBuffer-events-count", "how many rows each time has")
	windowKept       = always("window_deduplicate", "the row that is kept of the key in the window")
	emitted          = always("already-emitted-state-boolean", "whether the row of the key was emitted")
	waiting          = always("waiting-to-emit-on-timer", "the first row of the key, until the watermark passes it")
	deduplicated     = holding{regexp.MustCompile("^deduplicate-state$"), func(s Shape) string {
		if row(s.Value) {
			return "the row that is kept of the key"
		}
		return "whether the key was seen"
	}}
)

// joinText tells the ways of keeping an input apart. The outer side of a join also counts the rows that each row matches.
func joinText(s Shape) string {
	pair := row(s.Value) && len(s.Value.Fields) == 2 && s.Value.Fields[1].Type.Kind == state.Int32
	counted := pair && row(s.Value.Fields[0].Type)
	switch {
	case s.MapKey == nil && counted:
		return "the row of the input, whose join key is unique, and how many rows it matches"
	case s.MapKey == nil:
		return "the row of the input, whose join key is unique"
	case !row(s.Value):
		return "rows of the input as map keys, and how often each is there"
	case counted:
		return "rows of the input by unique key, and how many rows each matches"
	case pair && s.Value.Fields[0].Type.Kind == state.Int32:
		return "rows of the input as map keys, how often each is there and how many rows it matches; or rows of two INT columns by unique key"
	}
	return "rows of the input by unique key"
}
