package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	got := compare([]float64{10, 40, 30}, []float64{2, 1, 3})
	if want := (ratio{median: 15, low: 5, high: 40}); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestContestAlternates(t *testing.T) {
	var order strings.Builder
	named := func(name string, repeat int) *entrant {
		return &entrant{repeat: repeat, run: func(context.Context) (sample, error) {
			order.WriteString(name)
			return sample{wall: time.Duration(order.Len())}, nil
		}}
	}
	a, b := named("a", 3), named("b", 0)
	if err := contest(t.Context(), 2, time.Minute, a, b); err != nil {
		t.Fatal(err)
	}
	if order.String() != "aaabaaab" {
		t.Fatalf("ran as %s", order.String())
	}
	if len(a.samples) != 2 || a.samples[0].wall != 2 || len(b.samples) != 2 {
		t.Fatalf("samples: %v, %v", a.samples, b.samples)
	}
}

// TestRunsThatDoNotEnd are stopped, and the error says why and shows what the process says of its threads.
func TestRunsThatDoNotEnd(t *testing.T) {
	e := &entrant{run: func(ctx context.Context) (sample, error) {
		return measure(ctx, nil, nil, "sh", "-c", "trap 'echo the stacks >&2; exit 1' QUIT; while :; do sleep 0.05; done")
	}}
	err := contest(t.Context(), 1, 300*time.Millisecond, e)
	if !errors.Is(err, errTooLong) || !strings.Contains(err.Error(), "the stacks") {
		t.Fatal(err)
	}
}

func TestGoals(t *testing.T) {
	for name, c := range map[string]struct {
		row
		want string
	}{
		"none":     {row{ratio: ratio{median: 3}}, "-"},
		"met":      {row{ratio: ratio{median: 10}, goal: 10}, ">= 10.0 met"},
		"missed":   {row{ratio: ratio{median: 9.99}, goal: 10}, ">= 10.0 MISSED"},
		"at most":  {row{ratio: ratio{median: 1.4}, goal: 1.5, atMost: true}, "<= 1.50 met"},
		"too much": {row{ratio: ratio{median: 1.6}, goal: 1.5, atMost: true}, "<= 1.50 MISSED"},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable(new(strings.Builder))
			if got := table.judge(c.row); got != c.want {
				t.Fatalf("%q, want %q", got, c.want)
			}
			if missed := table.verdict() != nil; missed != strings.Contains(c.want, "MISSED") {
				t.Fatalf("verdict: %v", table.verdict())
			}
		})
	}
}

func TestExplainedBytes(t *testing.T) {
	var out strings.Builder
	addBytes(newTable(&out), pair{keys: 1000, changes: 1}, "in both 2 files (900 bytes), only next 1 files (100 bytes); estimated: x; read 200 bytes in 4 requests\n"+
		"in both 2 files (900 bytes), only next 1 files (100 bytes); estimated: x; read 300 bytes in 4 requests\n")
	if !strings.Contains(out.String(), "4.00 .. 4.00") {
		t.Fatal(out.String())
	}
}
