package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type settings struct {
	dir      string // of the data and of what was built
	flink    string // line: flink1 or flink2
	binary   string // of statebridge; empty: built
	keys     []int
	changes  int // between the two snapshots; 0: one in a thousand
	rounds   int
	limit    time.Duration // of one run
	peerKeys int           // above so many keys no peer runs
	rows     int           // of the stream's and the sinks' measurements
	items    string
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == serveNATS {
		if err := natsServer(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == diffOver {
		if err := runDiffOver(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	switch err := run(ctx, flags()); {
	case errors.Is(err, errMissed):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func flags() settings {
	var s settings
	flag.StringVar(&s.dir, "dir", filepath.Join(os.TempDir(), "statebridge-bench"), "`folder` of the data, which is made when absent and kept")
	flag.StringVar(&s.flink, "flink", "flink2", "`line` of Flink: flink1 or flink2")
	flag.StringVar(&s.binary, "statebridge", "", "the `binary` to measure (default: built from this module)")
	flag.IntVar(&s.changes, "changes", 0, "changed keys between the two snapshots (default: one in a thousand)")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds of each contest")
	flag.DurationVar(&s.limit, "limit", 10*time.Minute, "a run that takes longer is stopped, and with it the bench; the stacks of its threads are shown")
	flag.IntVar(&s.peerKeys, "peer-keys", 5_000_000, "the State Processor API is left out above so many keys")
	flag.IntVar(&s.rows, "rows", 500_000, "rows that are published and applied")
	flag.StringVar(&s.items, "items", "export,diff,remote,scan,publish,apply,once,drain", "what to measure; growth is the part of diff that needs no peer")
	s.keys = []int{1_000_000}
	flag.Func("keys", "sizes of the state, as 1000000,5000000 (default 1000000)", func(v string) (err error) {
		s.keys, err = parseSizes(v)
		return err
	})
	flag.Parse()
	return s
}

func parseSizes(list string) (sizes []int, err error) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1000 {
			return nil, fmt.Errorf("%q is no number of keys from 1000 up", s)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// run prints the machine first and each line of the table as soon as it is known.
func run(ctx context.Context, s settings) error {
	b, err := prepare(ctx, s)
	if err != nil {
		return err
	}
	fmt.Println(machine(ctx))
	t := newTable(os.Stdout)
	for _, step := range b.steps() {
		if err := step(ctx, t); err != nil {
			return err
		}
	}
	return t.verdict()
}

// steps are what the settings ask for, in the order of the table.
func (b *bench) steps() (steps []func(context.Context, *table) error) {
	for _, keys := range b.keys {
		if b.wants("export") && keys <= b.peerKeys {
			steps = append(steps, func(ctx context.Context, t *table) error { return b.export(ctx, t, keys) })
		}
		if b.wants("diff") {
			steps = append(steps, func(ctx context.Context, t *table) error { return b.diff(ctx, t, keys) })
		}
		if b.wants("remote") {
			steps = append(steps, func(ctx context.Context, t *table) error { return b.remote(ctx, t, keys) })
		}
	}
	if b.wants("growth") && !b.wants("diff") {
		for _, keys := range b.keys {
			steps = append(steps, func(ctx context.Context, _ *table) error { return b.grow(ctx, keys) })
		}
	}
	if b.wants("diff") || b.wants("growth") {
		steps = append(steps, b.growth)
	}
	if b.wants("scan") {
		steps = append(steps, b.scan)
	}
	if b.wants("publish") {
		steps = append(steps, b.publish)
	}
	if b.wants("apply") {
		steps = append(steps, b.apply)
	}
	if b.wants("once") {
		steps = append(steps, func(ctx context.Context, t *table) error { return b.endToEnd(ctx, t, b.keys[0]) })
	}
	if b.wants("drain") {
		steps = append(steps, b.drain)
	}
	return steps
}
