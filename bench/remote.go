package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/slow"
	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/state"
)

const (
	remoteGoal  = 3 // times the time of local files at most
	remoteDelay = 20 * time.Millisecond
)

// diffOver is the first argument of a process of this program that diffs two snapshots over a slow store and counts the changes.
const diffOver = "diff-over"

// remote compares a diff over a store that delays each request with the same diff of local files, and with one that asks for each block when it
// needs it, one at a time.
func (b *bench) remote(ctx context.Context, t *table, keys int) error {
	p, err := b.snapshots(ctx, keys)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	over := func(repeat int, args ...string) *entrant {
		return &entrant{repeat: repeat, run: func(ctx context.Context) (sample, error) {
			command := append(append([]string{self, diffOver, "-changes", fmt.Sprint(p.changes)}, args...), p.base, p.next)
			return measure(ctx, nil, nil, command...)
		}}
	}
	delay := remoteDelay.String()
	local, far, again := over(diffRuns), over(diffRuns, "-delay", delay), over(diffRuns)
	if err := contest(ctx, b.rounds, b.limit, local, far, again); err != nil {
		return err
	}
	own := far.each(seconds)
	add := func(what string, other []float64, r ratio, control, goal float64) {
		t.add(row{what: what, data: p.String(), other: took(median(other)), ours: took(median(own)), ratio: r, control: control, goal: goal, atMost: goal > 0})
	}
	add("remote: "+delay+" a request, against local files", local.each(seconds), compare(own, local.each(seconds)),
		compare(again.each(seconds), local.each(seconds)).median, remoteGoal)
	single := over(1, "-delay", delay, "-single")
	if err := contest(ctx, 1, b.limit, single); err != nil { // it takes long
		return err
	}
	block := single.each(seconds)
	add("remote: each block by itself, the same store", block, compare(block, own[:1]), 0, 0)
	return nil
}

// runDiffOver is that process.
func runDiffOver(ctx context.Context, args []string) error {
	f := flag.NewFlagSet(diffOver, flag.ContinueOnError)
	want := f.Int("changes", 0, "that are expected")
	delay := f.Duration("delay", 0, "of each request")
	single := f.Bool("single", false, "one request at a time, when it is needed")
	if err := f.Parse(args); err != nil {
		return err
	}
	store := storage.Local()
	if *delay > 0 {
		far := &slow.Store{Inner: store, Delay: *delay, Single: *single}
		if store = far; *single {
			store = struct{ storage.Store }{far} // nobody knows that it is slow
		}
		defer func() { fmt.Fprintf(os.Stderr, "%d requests, at most %d at a time\n", far.Requests(), far.Most()) }()
	}
	n, err := changesOver(ctx, store, f.Arg(0), f.Arg(1))
	if err == nil && n != *want {
		err = fmt.Errorf("%d changes, %d expected", n, *want)
	}
	return err
}

// changesOver counts what has changed in all keyed state, in the way of the command diff.
func changesOver(ctx context.Context, store storage.Store, locations ...string) (n int, err error) {
	snaps := make([]*checkpoint.Snapshot, len(locations)) // which end with the process
	faults := make([]error, len(locations))
	var g sync.WaitGroup
	for i, at := range locations {
		g.Go(func() { snaps[i], faults[i] = checkpoint.Open(ctx, at, checkpoint.Options{Store: store}) })
	}
	if g.Wait(); errors.Join(faults...) != nil {
		return 0, errors.Join(faults...)
	}
	checkpoint.LoadPair(ctx, snaps[0].Operators(), snaps[1].Operators())
	before, errBefore := tablesOf(ctx, snaps[0])
	after, errAfter := tablesOf(ctx, snaps[1])
	if errBefore != nil || errAfter != nil || len(before) != len(after) {
		return 0, errors.Join(errBefore, errAfter, errors.New("other tables"))
	}
	for i, next := range after {
		for _, err := range differ.Diff(ctx, before[i], next, checkpoint.AllKeyGroups(next.MaxParallelism()), differ.Options{Explain: explain}) {
			if err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}

func explain(s differ.Step) { fmt.Fprintln(os.Stderr, s) }

func tablesOf(ctx context.Context, snap *checkpoint.Snapshot) (tables []*checkpoint.Table, err error) {
	for _, o := range snap.Operators() {
		all, err := o.Tables(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.Keyed() && t.Kind != state.KindTimer {
				tables = append(tables, t)
			}
		}
	}
	return tables, nil
}
