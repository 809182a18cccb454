package checkpoint

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// operatorOf is an operator whose subtasks hold changes in the metadata.
func operatorOf(t *testing.T, subtasks ...*flink.ChangelogHandle) *Operator {
	t.Helper()
	o := &flink.Operator{ID: "op", Parallelism: len(subtasks), MaxParallelism: lawGroups}
	for i, h := range subtasks {
		o.Subtasks = append(o.Subtasks, flink.Subtask{Index: i, ManagedKeyed: h})
	}
	s := &Snapshot{Location: "here", Metadata: &flink.Metadata{Version: 4}, resolver: flink.NewResolver(storage.Local(), "", nil), options: Options{TempDir: t.TempDir()}}
	return &Operator{Operator: o, snapshot: s}
}

func handle(first, last int, log *fixture.Log) *flink.ChangelogHandle {
	r := flink.KeyGroupRange{First: first, Last: last}
	d := &flink.ChangelogBytesHandle{Range: r}
	for _, c := range log.Changes {
		d.Changes = append(d.Changes, flink.ChangelogEntry(c))
	}
	return &flink.ChangelogHandle{Range: r, Deltas: []flink.KeyedHandle{d}}
}

func valueLog(timers bool, value fixture.Bytes) *fixture.Log {
	l := &fixture.Log{}
	if timers {
		l.Meta(0, fixture.State{Name: "timers", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)})
	}
	l.Meta(1, lawStates["value"])
	l.Add(keyGroup("a"), 1, fixture.OpSet, encoded("a"), fixture.Bytes{0}, value)
	return l
}

// TestKeysAreTheOperators: one subtask with timers tells the others how keys are serialized.
func TestKeysAreTheOperators(t *testing.T) {
	upper := new(fixture.Log)
	upper.Meta(0, fixture.State{Name: "timers", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)})
	lower := valueLog(false, encoded("v"))
	if keyGroup("a") > 63 {
		lower, upper = upper, lower
	}
	for name, c := range map[string]struct {
		handles []*flink.ChangelogHandle
		want    error
	}{
		"its own":   {[]*flink.ChangelogHandle{handle(0, 127, valueLog(true, encoded("v")))}, nil},
		"another's": {[]*flink.ChangelogHandle{handle(0, 63, lower), handle(64, 127, upper)}, nil},
		"nobody's":  {[]*flink.ChangelogHandle{handle(0, 127, valueLog(false, encoded("v")))}, fault.ErrUnsupported},
	} {
		table, err := operatorOf(t, c.handles...).Table(t.Context(), "s")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for row, err := range table.Rows(t.Context(), AllKeyGroups(lawGroups)) {
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), "materialization") {
				t.Fatalf("%s: %v", name, err)
			}
			if err == nil {
				got = append(got, string(row.Key)+string(row.Value))
			}
		}
		if c.want == nil && !slices.Equal(got, []string{`"a""v"`}) {
			t.Errorf("%s: rows %q", name, got)
		}
	}
}

// TestRowsKeepTheirSerializer: a value is decoded with what wrote it.
func TestRowsKeepTheirSerializer(t *testing.T) {
	l := valueLog(true, encoded("old"))
	changed := lawStates["value"]
	changed.Value = fixture.Long
	l.Meta(1, changed)
	l.Add(keyGroup("b"), 1, fixture.OpSet, encoded("b"), fixture.Bytes{0}, fixture.Bytes{}.I64(7))
	table, err := operatorOf(t, handle(0, 127, l)).Table(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for row, err := range table.Rows(t.Context(), AllKeyGroups(lawGroups)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(row.Value))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{`"old"`, `7`}) {
		t.Errorf("values %q", got)
	}
	for key, want := range map[string]error{`"a"`: fault.ErrUnsupported, `"b"`: nil} {
		for _, err := range table.Lookup(t.Context(), Key{Key: []byte(key)}) {
			if !errors.Is(err, want) {
				t.Errorf("looking up %s: %v", key, err)
			}
		}
	}
}

// TestListOfTwoSerializers is refused: its elements could not be told apart.
func TestListOfTwoSerializers(t *testing.T) {
	var l fixture.Log
	l.Meta(0, fixture.State{Name: "timers", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)})
	s := lawStates["list"]
	l.Meta(1, s)
	l.Add(keyGroup("a"), 1, fixture.OpAddElement, encoded("a"), encoded("n"), encoded("v"))
	s.Value = fixture.List(fixture.Long)
	l.Meta(1, s)
	l.Add(keyGroup("a"), 1, fixture.OpAddElement, encoded("a"), encoded("n"), fixture.Bytes{}.I64(1))
	table, err := operatorOf(t, handle(0, 127, &l)).Table(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Count(t.Context()); !errors.Is(err, fault.ErrUnsupported) {
		t.Errorf("err = %v", err)
	}
}

// TestBasesThatCannotBeMerged are refused by name.
func TestBasesThatCannotBeMerged(t *testing.T) {
	schemas := map[string]*state.Schema{}
	for name, s := range lawStates {
		var l fixture.Log
		l.Meta(0, fixture.State{Name: "timers", Value: fixture.Timer(fixture.String, fixture.VoidNamespace)})
		l.Meta(1, s)
		log, err := flink.OpenChangelog(t.Context(), handle(0, 127, &l), nil, state.Options{}, lawGroups)
		if err != nil {
			t.Fatal(err)
		}
		schemas[name] = log.States()[1].Versions[0]
	}
	voidList := *schemas["list"]
	voidList.Namespace = schemas["value"].Namespace
	for name, c := range map[string]struct {
		state changedState
		want  string
	}{
		"overlap": {changedState{name: "s", bases: []part{{groups: KeyGroups{5, 9}, schema: schemas["value"]}, {groups: KeyGroups{0, 5}, schema: schemas["value"]}}},
			`state "s": two materializations of key groups 0-5 and 5-9`},
		"kind":      {changedState{name: "s", versions: []*state.Schema{schemas["value"]}, bases: []part{{schema: schemas["list"]}}}, "list in its base and value in its changes"},
		"namespace": {changedState{name: "s", versions: []*state.Schema{schemas["list"]}, bases: []part{{schema: &voidList}}}, "namespaces"},
	} {
		if err := c.state.settle("here"); !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTimersInRawKeyedState stand there whole: what the changelog says of them is left out.
func TestTimersInRawKeyedState(t *testing.T) {
	timers := func(src source) part {
		return part{schema: &state.Schema{Name: "timers", Kind: state.KindTimer}, source: src}
	}
	other := part{schema: &state.Schema{Name: "s", Kind: state.KindValue}, source: &changelog{}}
	got := withoutLoggedTimers([]part{timers(&changelog{}), other}, []part{timers(&stream{})})
	if len(got) != 1 || got[0].schema.Name != "s" {
		t.Errorf("%v", got)
	}
}
