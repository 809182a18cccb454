package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

const scanGoal = 0.6

var scanLine = regexp.MustCompile(`BenchmarkScan/(\w+)\S*\s.*?([\d.]+) MB/s`)

// scan runs the benchmark of package sst: the visible rows of a family, undecoded, against a loop that reads, verifies and decompresses the same blocks.
func (b *bench) scan(ctx context.Context, t *table) error {
	speeds := map[string][]float64{}
	for range b.rounds {
		if err := b.scanRound(ctx, speeds); err != nil {
			return err
		}
	}
	cursor, blocks := speeds["cursor"], speeds["blocks"]
	if len(cursor) == 0 || len(cursor) != len(blocks) {
		return fmt.Errorf("go test -bench Scan gave %d and %d numbers", len(cursor), len(blocks))
	}
	half := len(cursor) / 2
	t.add(row{what: "scan: a loop over the blocks", data: "one table, in memory", other: fmt.Sprintf("%.0f MB/s", median(blocks)),
		ours: fmt.Sprintf("%.0f MB/s", median(cursor)), ratio: compare(cursor, blocks), control: median(cursor[:half]) / median(cursor[half:]), goal: scanGoal})
	return nil
}

func (b *bench) scanRound(ctx context.Context, speeds map[string][]float64) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkScan$", "-benchtime", "300ms", "-count", "2", "./checkpoint/rocksdb/sst")
	cmd.Dir = b.repository
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench Scan: %w\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		if m := scanLine.FindSubmatch(line); m != nil {
			speed, _ := strconv.ParseFloat(string(m[2]), 64) // digits and a point
			speeds[string(m[1])] = append(speeds[string(m[1])], speed)
		}
	}
	return nil
}
