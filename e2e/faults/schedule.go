package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A Fault is one thing that goes wrong for a while.
type Fault struct {
	Kind   string
	Victim string
	At     time.Duration // from the start of its round
	For    time.Duration // until it is put right
	N      uint64        // whatever else is left to chance: which process, after how many bytes
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s at %v for %v (%d)", f.Kind, f.Victim, f.At, f.For, f.N)
}

// The victims. No two faults have the same one at a time.
const (
	bridgeA  = "bridge a"
	bridgeB  = "bridge b"
	broker   = "nats"
	database = "postgres"
	cache    = "redis"
	job      = "flink"
)

type kind struct {
	name        string
	victims     []string
	weight      int
	least, most time.Duration
}

// What may go wrong. A lease lasts ten seconds: only who is frozen for longer is replaced meanwhile.
var kinds = []kind{
	{"kill", []string{bridgeA, bridgeB}, 8, 0, 3 * time.Second},
	{"freeze", []string{bridgeA, bridgeB}, 2, time.Second, 4 * time.Second},
	{"replace", []string{bridgeA, bridgeB}, 2, 12 * time.Second, 16 * time.Second},
	{"kill", []string{broker, database, cache}, 6, 0, 4 * time.Second},
	{"cut", []string{broker, database, cache}, 6, time.Second, 3 * time.Second},
	{"stall", []string{broker, database, cache}, 3, time.Second, 6 * time.Second},
	{"refuse", []string{broker, database, cache}, 3, time.Second, 6 * time.Second},
	{"set back", []string{broker, database, cache}, 3, 0, 2 * time.Second},
	{"empty", []string{broker, cache}, 2, 0, 2 * time.Second},
	{"end backend", []string{database}, 3, time.Second, 2 * time.Second},
	{"kill", []string{job}, 2, 0, 3 * time.Second},
	{"rewind", []string{job}, 2, 0, 3 * time.Second},
	{"lose task manager", []string{job}, 2, time.Second, 3 * time.Second},
	{"delete checkpoint", []string{job}, 4, 0, 2 * time.Second},
}

const (
	perRound = 10
	atOnce   = 2 // faults that overlap
	maxGap   = 4 * time.Second
)

// Round draws the faults of a round, in the order in which they begin: the same ones for the same seed.
func Round(seed, round uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, round))
	free := map[string]time.Duration{} // when a victim is well again
	now := time.Duration(0)
	var faults []Fault
	for range perRound {
		now += time.Duration(random.Int64N(int64(maxGap)))
		k := draw(random)
		f := Fault{Kind: k.name, Victim: k.victims[random.IntN(len(k.victims))], N: random.Uint64()}
		f.For = k.least + time.Duration(random.Int64N(int64(k.most-k.least)))
		now = max(now, free[f.Victim], whenFewer(faults, atOnce))
		f.At = now
		free[f.Victim] = f.At + f.For
		faults = append(faults, f)
	}
	return faults
}

func draw(random *rand.Rand) kind {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := random.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	panic("the weights are no longer what they were")
}

// whenFewer is when fewer than n of the faults still go on.
func whenFewer(faults []Fault, n int) time.Duration {
	if len(faults) < n {
		return 0
	}
	var ends []time.Duration
	for _, f := range faults {
		ends = append(ends, f.At+f.For)
	}
	slices.Sort(ends)
	return ends[len(ends)-n]
}

// A step begins or ends a fault.
type step struct {
	Fault
	at  time.Duration
	end bool
}

// steps puts the beginnings and ends of faults in the order in which they happen.
func steps(faults []Fault) []step {
	var all []step
	for _, f := range faults {
		all = append(all, step{f, f.At, false}, step{f, f.At + f.For, true})
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return all
}
