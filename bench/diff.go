package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

const (
	naiveGoal  = 200 // times faster
	growthGoal = 1.5 // times the time for more keys with the same changes
	diffRuns   = 7   // in a round: a diff takes milliseconds
)

type diffResult struct {
	pair
	ours []float64 // seconds
}

// diff compares two checkpoints with few changes: ours, our own reading of all rows of one of them, and the diff that one writes by hand.
func (b *bench) diff(ctx context.Context, t *table, keys int) error {
	p, err := b.snapshots(ctx, keys)
	if err != nil {
		return err
	}
	explained, err := b.check(ctx, p.changes, "diff", p.base, p.next, "--explain")
	if err != nil {
		return err
	}
	ours, again := b.ours(diffRuns, "diff", p.base, p.next), b.ours(diffRuns, "diff", p.base, p.next)
	entrants := []*entrant{ours, b.ours(1, "export", p.next), again}
	if keys <= b.peerKeys {
		entrants = append(entrants, b.peer(p.changes, peerHeap+keys/2000, "diff", p.base, p.next))
	}
	if err := contest(ctx, b.rounds, b.limit, entrants...); err != nil {
		return err
	}
	own := ours.each(seconds)
	b.diffs[keys] = diffResult{p, own}
	control := compare(again.each(seconds), own).median
	against := func(what string, e *entrant, of func(sample) float64, goal float64) {
		other := e.each(of)
		t.add(row{what: what, data: p.String(), other: took(median(other)), ours: took(median(own)), ratio: compare(other, own), control: control, goal: goal})
	}
	against("diff: time, our export of one side", entrants[1], seconds, 0)
	addBytes(t, p, explained.said)
	if len(entrants) > 3 {
		against("diff: time, State Processor API + hash join", entrants[3], seconds, naiveGoal)
		against("diff: same, JVM's start left out", entrants[3], withoutStart, 0)
		mine, theirs := ours.each(mebibytes), entrants[3].each(mebibytes)
		t.add(row{what: "diff: peak memory, same", data: p.String(), other: rss(median(theirs)), ours: rss(median(mine)), ratio: compare(theirs, mine),
			control: compare(again.each(mebibytes), mine).median})
	}
	return nil
}

// grow measures a diff without anything beside it.
func (b *bench) grow(ctx context.Context, keys int) error {
	p, err := b.snapshots(ctx, keys)
	if err != nil {
		return err
	}
	if _, err := b.check(ctx, p.changes, "diff", p.base, p.next); err != nil {
		return err
	}
	ours := b.ours(diffRuns, "diff", p.base, p.next)
	if err := contest(ctx, b.rounds, b.limit, ours); err != nil {
		return err
	}
	b.diffs[keys] = diffResult{p, ours.each(seconds)}
	return nil
}

var explainedBytes = map[string]*regexp.Regexp{
	"shared": regexp.MustCompile(`in both \d+ files \((\d+) bytes\)`),
	"new":    regexp.MustCompile(`only next \d+ files \((\d+) bytes\)`),
	"read":   regexp.MustCompile(`; read (\d+) bytes`),
}

// addBytes shows how much of the newer snapshot the diff has read, as --explain says.
func addBytes(t *table, p pair, explained string) {
	sum := func(what string) (n float64) {
		for _, m := range explainedBytes[what].FindAllStringSubmatch(explained, -1) {
			bytes, _ := strconv.ParseFloat(m[1], 64) // digits
			n += bytes
		}
		return n
	}
	read := sum("read")
	if read == 0 {
		return
	}
	all := (sum("shared") + sum("new")) / read
	t.add(row{what: fmt.Sprintf("diff: bytes read, all (%.0f kB are new)", sum("new")/1000), data: p.String(),
		other: fmt.Sprintf("%.1f MB", all*read/1e6), ours: fmt.Sprintf("%.1f MB", read/1e6), ratio: ratio{all, all, all}})
}

// growth compares the diffs of the sizes that were measured, where the changes are as many.
func (b *bench) growth(_ context.Context, t *table) error {
	for i := 1; i < len(b.keys); i++ {
		small, large := b.diffs[b.keys[i-1]], b.diffs[b.keys[i]]
		if small.changes != large.changes || small.keys == large.keys {
			continue
		}
		t.add(row{what: fmt.Sprintf("diff: growth from %s to %s keys", count(small.keys), count(large.keys)), data: count(large.changes) + " changed",
			other: took(median(small.ours)), ours: took(median(large.ours)), ratio: compare(large.ours, small.ours), goal: growthGoal, atMost: true})
	}
	return nil
}
