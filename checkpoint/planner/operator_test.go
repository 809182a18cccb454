package planner

import (
	"testing"

	"github.com/statebridge/statebridge/state"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		uid, name string
		states    []string
		kind      string
		byState   bool
	}{
		{uid: "6_global-window-aggregate", kind: "GlobalWindowAggregate"}, {uid: "5_join", name: "Join[5]", kind: "Join"},
		{uid: "13_stream-exec-sink_1_upsert-materialize", kind: "SinkMaterializer"}, {name: "GlobalWindowAggregate[6]", kind: "GlobalWindowAggregate"},
		{uid: "my-join", name: "Rank(strategy=[UndefinedStrategy])", kind: "Rank"}, {uid: "my-uid", name: "ChangelogNormalize[4]", kind: "ChangelogNormalize"},
		{uid: "join"}, {uid: "7_calc", name: "Calc[7]"}, {uid: "x", name: "Join of orders"}, {uid: "x", states: []string{"left-records", "right-records"}},
		{states: []string{"_timer_state/event_user-timers", "left-records", "right-records"}, kind: "Join", byState: true},
		{states: []string{"accState"}, kind: "GroupAggregate", byState: true}, {states: []string{"inputState", "accState"}, kind: "OverAggregate", byState: true},
		{states: []string{"left-records", "right-records", "_timer_state/event_window-timers"}, kind: "WindowJoin", byState: true},
		{states: []string{"watermark", "window-aggs"}, kind: "WindowAggregate", byState: true}, {states: []string{"window-aggs"}, kind: "GroupWindowAggregate", byState: true},
		{states: []string{"nfaStateName", "sharedBuffer-events"}, kind: "Match", byState: true}, {states: []string{"window_rank", "watermark"}, kind: "WindowRank", byState: true},
		{states: []string{"left", "right", "next-index", "timer"}, kind: "TemporalJoin", byState: true},
		{uid: "12_lookup-join-materialize", kind: "LookupJoin"}, {name: "LookupJoin[5]", kind: "LookupJoin"}, {uid: "remember", name: "ProcessTableFunction[77]", kind: "ProcessTableFunction"},
		{uid: "39_window", kind: "WindowTableFunction"}, {states: []string{"_delta_join_operator_async_wait_state_"}, kind: "DeltaJoin", byState: true},
		{states: []string{"deduplicate-state"}}, // Deduplicate or ChangelogNormalize
		{},
	} {
		got := Find(c.uid, c.name, c.states)
		if got == nil {
			got = &Operator{}
		}
		if got.Kind != c.kind || got.ByState != c.byState {
			t.Errorf("%q, %q, %v: %s, by state %v; want %s, %v", c.uid, c.name, c.states, got.Kind, got.ByState, c.kind, c.byState)
		}
	}
}

func TestHolds(t *testing.T) {
	num := &state.Type{Kind: state.Int32}
	row := func(types ...*state.Type) *state.Type {
		t := &state.Type{Kind: state.Tuple}
		for _, f := range types {
			t.Fields = append(t.Fields, state.Field{Type: f})
		}
		return t
	}
	text := &state.Type{Kind: state.String}
	for _, c := range []struct {
		kind, state string
		shape       Shape
		want        string
	}{
		{"join", "left-records", Shape{Value: row(text, num)}, "the row of the input, whose join key is unique"},
		{"join", "left-records", Shape{Value: row(row(text), num)}, "the row of the input, whose join key is unique, and how many rows it matches"},
		{"join", "left-records", Shape{MapKey: row(text), Value: num}, "rows of the input as map keys, and how often each is there"},
		{"join", "right-records", Shape{MapKey: row(text), Value: row(text)}, "rows of the input by unique key"},
		{"join", "right-records", Shape{MapKey: row(text), Value: row(row(text), num)}, "rows of the input by unique key, and how many rows each matches"},
		{"join", "others", Shape{}, ""}, {"deduplicate", "deduplicate-state", Shape{Value: &state.Type{Kind: state.Bool}}, "whether the key was seen"},
		{"deduplicate", "deduplicate-state", Shape{Value: row(num)}, "the row that is kept of the key"},
		{"temporal-join", "next-index", Shape{}, "bookkeeping of the operator"}, {"over-aggregate", "agg3$map", Shape{}, "a map or list that belongs to the accumulator of one aggregate"},
		{"upsert-materialize", "sqnToNodeState", Shape{}, "the rows of the key by number of arrival, and the numbers before and behind"},
		{"match", "nfaStateName", Shape{}, "matches of the pattern that have begun"}, {"window-deduplicate", "window_deduplicate", Shape{}, "the row that is kept of the key in the window"},
		{"lookup-join-materialize", "unique-value", Shape{}, "what was found for the row of the key"}, {"process", "log", Shape{}, "state of the function, named after its parameter"},
		{"group-window-aggregate", "trigger-count-3", Shape{}, "how many rows the window has"}, {"window", "session-window-tvf-counter", Shape{}, "how many rows the key had"},
		{"rank", "_timer_state/processing_user-timers", Shape{}, "timers in processing time"},
	} {
		if got := kinds[c.kind].Holds(c.state, c.shape); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.kind, c.state, got, c.want)
		}
	}
}
