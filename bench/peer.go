package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// peer is a run of the program in bench/flink, which must report the number of rows or changes that is wanted.
func (b *bench) peer(want, heapMiB int, args ...string) *entrant {
	return &entrant{run: func(ctx context.Context) (sample, error) {
		command := append([]string{b.java, b.flink, "statebridge.peer.Peer"}, args...)
		var stacks bytes.Buffer // it prints nothing else there
		s, err := measure(ctx, &stacks, []string{fmt.Sprintf("PEER_HEAP=%dm", heapMiB)}, command...)
		if err != nil {
			return s, fmt.Errorf("%w\n%s", err, stacks.Bytes())
		}
		r, err := s.report()
		if err == nil && r.Rows+r.Changes != want {
			err = fmt.Errorf("%v: %d rows or changes, %d expected", args, r.Rows+r.Changes, want)
		}
		return s, err
	}}
}

// A report is the last line that a peer says. Its seconds leave out the start of the JVM.
type report struct {
	Rows, Changes int
	Seconds       float64
}

func (s sample) report() (r report, err error) {
	all := strings.TrimSpace(s.said)
	err = json.Unmarshal([]byte(all[strings.LastIndexByte(all, '\n')+1:]), &r)
	return r, err
}

// withoutStart is the time that the peer itself has measured.
func withoutStart(s sample) float64 {
	r, err := s.report()
	if err != nil {
		return seconds(s)
	}
	return r.Seconds
}

// ours is a run of statebridge.
func (b *bench) ours(repeat int, args ...string) *entrant {
	return &entrant{repeat: repeat, run: func(ctx context.Context) (sample, error) {
		return measure(ctx, nil, nil, append([]string{b.statebridge}, args...)...)
	}}
}

// check fails unless statebridge prints so many lines. It also brings the files into the page cache, where all entrants find them.
func (b *bench) check(ctx context.Context, want int, args ...string) (sample, error) {
	var n lines
	s, err := measure(ctx, &n, nil, append([]string{b.statebridge}, args...)...)
	if err == nil && int(n) != want {
		err = fmt.Errorf("statebridge %v: %d lines, %d expected", args, n, want)
	}
	return s, err
}

func rate(n int, seconds float64) string { return kilo(float64(n) / seconds) }

func kilo(perSecond float64) string { return fmt.Sprintf("%.0f k/s", perSecond/1000) }

func rss(mebibytes float64) string { return fmt.Sprintf("%.0f MiB", mebibytes) }

func took(seconds float64) string {
	d := duration(seconds)
	if d < time.Second {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
