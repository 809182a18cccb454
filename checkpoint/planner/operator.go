package planner

import (
	"regexp"
	"slices"
	"strings"
)

// Operator is a kind of operator.
type Operator struct {
	Kind    string // as the planner calls it: GroupAggregate
	Does    string // what it is in a query
	ByState bool   // the snapshot has no name for it; its states look like those of this kind

	holds []holding
}

// A holding says what the states hold whose names it matches.
type holding struct {
	state *regexp.Regexp
	text  func(Shape) string
}

// kinds by their names in uids. Several have one form.
var kinds = map[string]*Operator{}

// byKind has the first of the kinds that share a name.
var byKind = map[string]*Operator{}

func init() {
	aggregates := holds(accumulators, distinct, distinctNull, mapView)
	window := holds(windowAggregates, distinct, distinctNull, mapView, sessions, watermark)
	groupWindow := append(holds(windowBefore, windowFired, windowFires, windowRows, windowCount), window...)
	for _, k := range []struct {
		uid, kind, does string
		holds           []holding
	}{
		{"group-aggregate", "GroupAggregate", "GROUP BY without a window", aggregates},
		{"global-group-aggregate", "GlobalGroupAggregate", "GROUP BY without a window, of what was aggregated locally", aggregates},
		{"incremental-group-aggregate", "IncrementalGroupAggregate", "GROUP BY with split distinct aggregates", aggregates},
		{"group-table-aggregate", "GroupTableAggregate", "a table aggregate function", aggregates},
		{"group-window-aggregate", "GroupWindowAggregate", "GROUP BY TUMBLE, HOP or SESSION", groupWindow},
		{"window-aggregate", "WindowAggregate", "GROUP BY a window of a windowing table function", window},
		{"global-window-aggregate", "GlobalWindowAggregate", "GROUP BY a window of a windowing table function, of what was aggregated locally", window},
		{"over-aggregate", "OverAggregate", "aggregates OVER a range or a number of rows", holds(overInput, accumulators, distinct, distinctNull, mapView, overTriggered, overCount, overCleanup,
			overOldest, overSorted, overRows, overNumber, overByKey)},
		{"join", "Join", "a regular join, which keeps both inputs", holds(joinSide)},
		{"multi-join", "MultiJoin", "regular joins of several inputs at once", holds(multiJoin)},
		{"interval-join", "IntervalJoin", "a join bounded in time", holds(intervalCache, intervalTimer)},
		{"temporal-join", "TemporalJoin", "a join with the version of a table at a time (FOR SYSTEM_TIME AS OF)", holds(temporalSide, temporalTimer)},
		{"lookup-join", "LookupJoin", "a join with a table that is looked up row by row", holds(waitingRows)},
		{"lookup-join-materialize", "LookupJoin", "a join with a table that is looked up row by row, of rows that change", holds(lookedUp, lookedUpAll)},
		{"lookup-join-key-ordered", "LookupJoin", "a join with a table that is looked up row by row, in the order of each key", holds(waitingRows, waitingKeyed)},
		{"delta-join", "DeltaJoin", "a join of tables that are looked up in both directions, and kept in neither", holds(waitingDelta)},
		{"async-calc", "AsyncCalc", "a function that answers later", holds(waitingRows)},
		{"async-correlate", "AsyncCorrelate", "a table function that answers later", holds(waitingRows)},
		{"process", "ProcessTableFunction", "a process table function", holds(namedTimers, functionState)},
		{"window", "WindowTableFunction", "a windowing table function", holds(sessions, sessionRows, sessionNumber)},
		{"window-join", "WindowJoin", "a join within windows", holds(windowSide)},
		{"rank", "Rank", "the first N rows of a partition (ROW_NUMBER)", holds(rankData, rankOrder, rankEnd, top1)},
		{"window-rank", "WindowRank", "the first N rows of a window's partition", holds(windowRank, watermark)},
		{"deduplicate", "Deduplicate", "the first or last row of each key", holds(deduplicated, waiting, emitted)},
		{"window-deduplicate", "WindowDeduplicate", "the first or last row of each key in a window", holds(windowKept, watermark)},
		{"changelog-normalize", "ChangelogNormalize", "an upsert source made into a full changelog", holds(normalized)},
		{"upsert-materialize", "SinkMaterializer", "changes put in order before a sink with another key", holds(materialized, linkedRows, linkedNumbers, linkedHighest, compacted,
			compactedBuffer, compactedAt)},
		{"match", "Match", "MATCH_RECOGNIZE, or a pattern of the CEP library", holds(matches, matchQueue, matchRows, matchEdges, matchCount)},
		{"temporal-sort", "TemporalSort", "ORDER BY time", holds(sorted, overTriggered)},
	} {
		kinds[k.uid] = &Operator{Kind: k.kind, Does: k.does, holds: k.holds}
		if byKind[k.kind] == nil {
			byKind[k.kind] = kinds[k.uid]
		}
	}
}

var (
	uidForm  = regexp.MustCompile(`^\d+_(?:.*_)?([a-z][a-z-]*)$`)
	nameForm = regexp.MustCompile(`^([A-Z][A-Za-z]*)(?:\[\d+\]|\()`)
)

// Find gives the kind of an operator by its uid, its name, or else the names of its states; nil if it is none of the planner's.
func Find(uid, name string, states []string) *Operator {
	if m := uidForm.FindStringSubmatch(uid); m != nil && kinds[m[1]] != nil {
		return kinds[m[1]]
	}
	if m := nameForm.FindStringSubmatch(name); m != nil {
		if k := byKind[m[1]]; k != nil {
			return k
		}
	}
	if uid != "" || name != "" {
		return nil
	}
	return byStates(states)
}

// byStates knows the kinds whose states are named like no others.
func byStates(states []string) *Operator {
	for _, mark := range []struct {
		all []string
		uid string
	}{
		{[]string{"IntervalJoinLeftCache", "IntervalJoinRightCache"}, "interval-join"},
		{[]string{"left-records", "right-records", "_timer_state/event_window-timers"}, "window-join"},
		{[]string{"left-records", "right-records"}, "join"}, {[]string{"multi-join-input-0", "multi-join-input-1"}, "multi-join"},
		{[]string{"inputState", "accState"}, "over-aggregate"}, {[]string{"window-aggs", "watermark"}, "window-aggregate"}, {[]string{"window-aggs"}, "group-window-aggregate"},
		{[]string{"window_rank"}, "window-rank"}, {[]string{"window_deduplicate"}, "window-deduplicate"},
		{[]string{"sorted-map", "data-state"}, "rank"}, {[]string{"data-state-with-append"}, "rank"}, {[]string{"data-state-with-update"}, "rank"},
		{[]string{"Top1-Rank-State"}, "rank"}, {[]string{"already-emitted-state-boolean"}, "deduplicate"},
		{[]string{"left", "right", "next-index"}, "temporal-join"}, {[]string{"dataState", "lastTriggeringTsState"}, "temporal-sort"},
		{[]string{"accState"}, "group-aggregate"}, {[]string{"_delta_join_operator_async_wait_state_"}, "delta-join"},
		{[]string{"session-window-tvf-acc", "session-window-tvf-counter"}, "window"}, {[]string{"internal-named-timers-map"}, "process"}, {[]string{"nfaStateName", "sharedBuffer-events"}, "match"},
	} {
		if !slices.ContainsFunc(mark.all, func(s string) bool { return !slices.Contains(states, s) }) {
			found := *kinds[mark.uid]
			found.ByState = true
			return &found
		}
	}
	return nil
}

// Holds says what a state of the operator holds; "" where that is not known.
func (o *Operator) Holds(state string, shape Shape) string {
	if t, ok := strings.CutPrefix(state, "_timer_state/"); ok {
		return map[bool]string{true: "timers in event time", false: "timers in processing time"}[strings.HasPrefix(t, "event_")]
	}
	for _, h := range o.holds {
		if h.state.MatchString(state) {
			return h.text(shape)
		}
	}
	return ""
}
