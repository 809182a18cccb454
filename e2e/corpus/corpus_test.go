package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	for _, s := range Open(t) {
		if len(s.Snapshots) < 2 { // a diff needs two
			t.Errorf("%s has %d snapshots, want 2 or more", s.Name, len(s.Snapshots))
		}
		emptied := strings.Contains(s.Name, "-emptied_") // here a snapshot without rows is the point
		for _, snapshot := range s.Snapshots {
			if _, err := os.Stat(filepath.Join(snapshot.Path, "_metadata")); err != nil {
				t.Error(err)
			}
			rows, err := ReadFile(snapshot.Expected)
			if err != nil || len(rows) == 0 && !emptied {
				t.Errorf("%s: %d expected rows, %v", snapshot.Name, len(rows), err)
			}
			if faults := Compare(rows, rows); len(faults) > 0 {
				t.Errorf("%s differs from itself: %s", snapshot.Name, faults[0])
			}
			if faults := CompareDiff(rows, rows, nil); len(faults) > 0 {
				t.Errorf("%s has a difference to itself: %s", snapshot.Name, faults[0])
			}
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`1`, `1`, true},
		{`1`, `1.0`, true},
		{`1`, `2`, false},
		{`1`, `"1"`, false},
		{`1`, `true`, false},
		{`null`, `null`, true},
		{`null`, `0`, false},
		{`null`, `[]`, false},
		{`0.0`, `-0.0`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`123456789012345678901234567890`, `123456789012345678901234567891`, false},
		{`0.1`, `0.1`, true},
		{`0.33333334`, `0.333333343`, true},
		{`0.33333334`, `0.33333339`, false},
		{`"ü"`, `"\u00fc"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[1,2,3]`, false},
		{`[1,2]`, `{"a":1,"b":2}`, true},
		{`[1,2]`, `{"a":2,"b":1}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1,"b":null}`, `{"a":1}`, false},
		{`{"a":1}`, `[["a",1]]`, true},
		{`[["a",1]]`, `{"a":1}`, true},
		{`{"a":1}`, `[1]`, false},
		{`{}`, `[]`, true},
		{`[[1,2],[3,4]]`, `[[3,4],[1,2]]`, true},
		{`[[1,2],[3,4]]`, `[[3,4],[1,5]]`, false},
		{`{"$raw":"AA=="}`, `{"$raw":"AA==","$type":"x","$why":"y"}`, true},
		{`{"$raw":"AA=="}`, `{"$raw":"AQ==","$type":"x","$why":"y"}`, false},
		{`{"a":[{"b":[1]}]}`, `{"a":[{"b":[2]}]}`, false},
	} {
		want, err := parse([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse([]byte(c.got))
		if err != nil {
			t.Fatal(err)
		}
		if same(want, got) != c.same {
			t.Errorf("same(%s, %s) = %v", c.want, c.got, !c.same)
		}
	}
}

func rows(t *testing.T, lines ...string) []Row {
	t.Helper()
	r, err := ReadRows(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	const (
		a1    = `{"operator_uid":"op","state":"s","kind":"value","key":"a","value":1}`
		a2    = `{"operator_uid":"op","state":"s","kind":"value","key":"a","value":2}`
		byID  = `{"operator_id":"8edd9e9d8d8e9f8f0a4fd2fa46b47e16","operator_uid":"op","state":"s","kind":"value","key":"a","value":1}`
		timer = `{"operator_uid":"op","state":"_timer_state/event_t","kind":"timer","key":"a","value":5}`
		ttl   = `{"operator_uid":"op","state":"s","kind":"value","key":"a","value":1,"ttl_ts_min":5,"ttl_ts_max":9}`
		at7   = `{"operator_uid":"op","state":"s","kind":"value","key":"a","value":1,"ttl_ts":7}`
		at10  = `{"operator_uid":"op","state":"s","kind":"value","key":"a","value":1,"ttl_ts":10}`
		old   = `{"operator_uid":"op","state":"s","kind":"value","key":"b","value":1,"expired":true}`
	)
	for name, c := range map[string]struct {
		want, got []string
		faults    int
	}{
		"equal":          {[]string{a1}, []string{a1}, 0},
		"another value":  {[]string{a1}, []string{a2}, 2},
		"missing":        {[]string{a1}, nil, 1},
		"not expected":   {[]string{a1}, []string{a1, a2}, 1},
		"twice":          {[]string{a1}, []string{a1, a1}, 1},
		"other operator": {[]string{a1}, []string{byID}, 2},
		"no timers":      {[]string{a1}, []string{a1, timer}, 0},
		"timers":         {[]string{a1, timer}, []string{a1}, 1},
		"ttl":            {[]string{ttl}, []string{at7}, 0},
		"ttl too late":   {[]string{ttl}, []string{at10}, 2},
		"ttl absent":     {[]string{ttl}, []string{a1}, 2},
		"expired":        {[]string{a1, old}, []string{a1}, 0},
	} {
		if faults := Compare(rows(t, c.want...), rows(t, c.got...)); len(faults) != c.faults {
			t.Errorf("%s: %d faults %q, want %d", name, len(faults), faults, c.faults)
		}
	}
}

func TestCompareDiff(t *testing.T) {
	const head = `{"operator_uid":"op","state":"s","kind":"value","key":`
	base := rows(t, head+`"a","value":1}`, head+`"b","value":[1,2]}`, head+`"c","value":3}`)
	next := rows(t, head+`"a","value":1}`, head+`"b","value":[1,3]}`, head+`"d","value":4}`)
	right := []string{
		head + `"b","op":"u","before":[1,2],"after":[1,3]}`,
		head + `"c","op":"d","before":3,"after":null}`,
		head + `"d","op":"c","after":4}`,
	}
	for name, c := range map[string]struct {
		changes []string
		faults  int
	}{
		"right":         {right, 0},
		"one too few":   {right[:2], 1},
		"one twice":     {append(right[:3:3], right[2]), 1},
		"one too many":  {append(right[:3:3], head+`"a","op":"u","before":1,"after":1}`), 1},
		"wrong op":      {append(right[:2:2], head+`"d","op":"u","after":4}`), 1},
		"wrong before":  {append(right[1:3:3], head+`"b","op":"u","before":[1,1],"after":[1,3]}`), 1},
		"absent before": {append(right[1:3:3], head+`"b","op":"u","after":[1,3]}`), 1},
	} {
		if faults := CompareDiff(base, next, rows(t, c.changes...)); len(faults) != c.faults {
			t.Errorf("%s: %d faults %q, want %d", name, len(faults), faults, c.faults)
		}
	}
}
