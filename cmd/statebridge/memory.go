package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/config"
)

const (
	defaultMemory = config.Size(512 << 20)
	// minMemory is the least that a command which reads snapshots can do with.
	minMemory = config.Size(64 << 20)

	// What a process takes before there is any data: its code, which the collector does not count, and the first heap. That of run has servers and databases in it.
	readingCode, readingHeap = 28 << 20, 8 << 20
	runningCode, runningHeap = 44 << 20, 24 << 20
)

// limits share out what a process may take in all. What is alive at once adds up to less than the whole, since the collector needs room to work in.
type limits struct {
	sort   *spill.Memory // all sorting
	rows   int           // rows on their way from decoding to printing
	window int           // messages on their way to the server
	ahead  int           // messages that have come and wait for the sinks, all together
	far    int64         // bytes fetched from a distant store before they are needed, for each snapshot
	maxRow int           // the largest row: it is in memory several times at once, as bytes, as JSON and as a line
}

// readingLimits lets the collector come early unless GOGC says when: little is alive and nothing is allocated for a row, so that costs no time.
func readingLimits(memory config.Size) limits {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	return limitsOf(int(memory), readingCode, readingHeap)
}

func runningLimits(memory config.Size) limits { return limitsOf(int(memory), runningCode, runningHeap) }

// limitsOf also tells the collector where the limit is. That is the net below the shares and not what keeps them.
func limitsOf(memory, code, heap int) limits {
	debug.SetMemoryLimit(int64(memory - code - memory/32))
	left := memory - code - heap
	return limits{sort: spill.NewMemory(left / 4), rows: left / 4, window: min(left/8, 8<<20), ahead: left / 8, far: int64(min(left/8, 64<<20)), maxRow: memory / 16}
}

// options gives those of a snapshot as far as they concern memory.
func (l *limits) options() checkpoint.Options {
	return checkpoint.Options{Memory: l.sort, MaxRow: l.maxRow, Reading: checkpoint.Reading{Ahead: l.far}}
}

func registerMemory(flags *pflag.FlagSet, into *config.Size) {
	*into = defaultMemory
	flags.Var(into, "memory", "`SIZE` that the process may take in all, such as 128MiB or 2GiB")
}
