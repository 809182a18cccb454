package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// An entrant is one of the programs that are measured against each other.
type entrant struct {
	run     func(context.Context) (sample, error)
	repeat  int      // runs in a round, for what ends too soon to be measured once
	samples []sample // of each round, the one of median time
}

// contest lets the entrants run in turn, one at a time, for some rounds. No run may take longer than the limit.
func contest(ctx context.Context, rounds int, limit time.Duration, entrants ...*entrant) error {
	for range rounds {
		for _, e := range entrants {
			if err := e.round(ctx, limit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *entrant) round(ctx context.Context, limit time.Duration) error {
	var runs []sample
	for range max(1, e.repeat) {
		s, err := e.limited(ctx, limit)
		if err != nil {
			return err
		}
		runs = append(runs, s)
	}
	slices.SortFunc(runs, func(a, b sample) int { return int(a.wall - b.wall) })
	e.samples = append(e.samples, runs[len(runs)/2])
	return nil
}

var errTooLong = errors.New("it was stopped, since it took longer than -limit allows")

func (e *entrant) limited(ctx context.Context, limit time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %s", errTooLong, limit))
	defer cancel()
	return e.run(ctx)
}

// each gives one number of every round.
func (e *entrant) each(of func(sample) float64) (values []float64) {
	for _, s := range e.samples {
		values = append(values, of(s))
	}
	return values
}

func seconds(s sample) float64 { return s.wall.Seconds() }

func cpuSeconds(s sample) float64 { return s.cpu.Seconds() }

func mebibytes(s sample) float64 { return float64(s.rss) / (1 << 20) }

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// median of an even number of values is the upper of the two in the middle.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// A ratio is how many times less ours needs than the other.
type ratio struct {
	median, low, high float64 // low and high are of single rounds
}

func compare(other, ours []float64) ratio {
	r := ratio{median: median(other) / median(ours)}
	for i := range other {
		q := other[i] / ours[i]
		if i == 0 || q < r.low {
			r.low = q
		}
		r.high = max(r.high, q)
	}
	return r
}
