package main

import (
	"errors"
	"fmt"
	"io"
)

var errMissed = errors.New("a ratio misses its goal")

// A table prints its rows as they are added and remembers whether all goals were met.
type table struct {
	out    io.Writer
	missed int
}

// A row is one ratio. With atMost a small ratio is the good one.
type row struct {
	what, data  string
	other, ours string // medians, with their units
	ratio       ratio
	control     float64 // ours to ours
	goal        float64 // 0: none
	atMost      bool
}

const layout = "%-44s  %-22s  %12s  %12s  %8s  %17s  %5s  %s\n"

func newTable(out io.Writer) *table {
	fmt.Fprintf(out, "\n"+layout, "", "data", "other", "ours", "ratio", "of single rounds", "A/A", "goal")
	return &table{out: out}
}

func (t *table) add(r row) {
	control := "-"
	if r.control != 0 {
		control = fmt.Sprintf("%.2f", r.control)
	}
	fmt.Fprintf(t.out, layout, r.what, r.data, r.other, r.ours, number(r.ratio.median), number(r.ratio.low)+" .. "+number(r.ratio.high), control, t.judge(r))
}

// judge compares the ratio of the medians, as printed, with its goal.
func (t *table) judge(r row) string {
	if r.goal == 0 {
		return "-"
	}
	sign, met := ">=", r.ratio.median >= r.goal
	if r.atMost {
		sign, met = "<=", r.ratio.median <= r.goal
	}
	if met {
		return fmt.Sprintf("%s %s met", sign, number(r.goal))
	}
	t.missed++
	return fmt.Sprintf("%s %s MISSED", sign, number(r.goal))
}

func (t *table) verdict() error {
	if t.missed == 0 {
		return nil
	}
	return fmt.Errorf("%d times: %w", t.missed, errMissed)
}

// number keeps about three digits.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
