package main

import (
	"context"
	"fmt"
)

const scanGoal = 0.6

// scan runs the benchmark of package sst: the visible rows of a family, undecoded, against a loop that reads, verifies and decompresses the same blocks.
func (b *bench) scan(ctx context.Context, t *table) error {
	g := goBench{pkg: "./checkpoint/rocksdb/sst", name: "BenchmarkScan", unit: "MB/s", flags: []string{"-benchtime", "300ms", "-count", "2"}}
	speeds, err := g.run(ctx, b.repository, b.rounds)
	if err != nil {
		return err
	}
	cursor, blocks, err := g.pair(speeds, "cursor", "blocks")
	if err != nil {
		return err
	}
	half := len(cursor) / 2
	t.add(row{what: "scan: a loop over the blocks", data: "one table, in memory", other: fmt.Sprintf("%.0f MB/s", median(blocks)),
		ours: fmt.Sprintf("%.0f MB/s", median(cursor)), ratio: compare(cursor, blocks), control: median(cursor[:half]) / median(cursor[half:]), goal: scanGoal})
	return nil
}
