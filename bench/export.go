package main

import "context"

const (
	exportGoal = 10 // times the rows a second
	memoryGoal = 10 // times less memory
	peerHeap   = 512
)

// export reads all rows of one checkpoint. Both print each as a line of JSON into the null device; the peer also runs once without printing.
func (b *bench) export(ctx context.Context, t *table, keys int) error {
	p, err := b.snapshots(ctx, keys)
	if err != nil {
		return err
	}
	if _, err := b.check(ctx, keys, "export", p.next); err != nil {
		return err
	}
	ours, again := b.ours(1, "export", p.next), b.ours(1, "export", p.next)
	prints, counts := b.peer(keys, peerHeap, "export", p.next, "/dev/null"), b.peer(keys, peerHeap, "count", p.next)
	if err := contest(ctx, b.rounds, b.limit, ours, prints, again, counts); err != nil {
		return err
	}
	control := compare(again.each(seconds), ours.each(seconds)).median
	speed := func(what string, peer *entrant, of func(sample) float64, goal float64) {
		other, own := peer.each(of), ours.each(seconds)
		t.add(row{what: what, data: count(keys) + " keys", other: rate(keys, median(other)), ours: rate(keys, median(own)),
			ratio: compare(other, own), control: control, goal: goal})
	}
	speed("export: rows/s, State Processor API", prints, seconds, exportGoal)
	speed("export: same, JVM's start left out", prints, withoutStart, 0)
	speed("export: same, API counts and prints nothing", counts, withoutStart, 0)
	other, own := prints.each(mebibytes), ours.each(mebibytes)
	t.add(row{what: "export: peak memory, State Processor API", data: count(keys) + " keys", other: rss(median(other)), ours: rss(median(own)),
		ratio: compare(other, own), control: compare(again.each(mebibytes), own).median, goal: memoryGoal})
	return nil
}
