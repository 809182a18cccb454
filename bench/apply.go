package main

import "context"

const applyGoal = 0.8 // of what one writes by hand

// apply runs the benchmarks of the sinks: epochs of rows that are in memory, into a table or keys that have the same rows of an earlier version,
// against the same rows by hand.
func (b *bench) apply(ctx context.Context, t *table) error {
	for _, against := range []struct{ pkg, what string }{
		{"./sinks/postgres", "apply: rows/s, COPY, INSERT … ON CONFLICT"},
		{"./sinks/redis", "apply: rows/s, pipeline of HSET"},
	} {
		g := goBench{pkg: against.pkg, name: "BenchmarkUpsert", unit: "rows/s", flags: []string{"-benchtime", "3x"}}
		speeds, err := g.run(ctx, b.repository, b.rounds)
		if err != nil {
			return err
		}
		ours, hand, err := g.pair(speeds, "sink", "hand")
		if err != nil {
			return err
		}
		t.add(row{what: against.what, data: "100k rows", other: kilo(median(hand)), ours: kilo(median(ours)),
			ratio: compare(ours, hand), control: median(ours) / median(speeds["again"]), goal: applyGoal})
	}
	return nil
}
