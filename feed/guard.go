package feed

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/statebridge/statebridge/differ"
	"github.com/statebridge/statebridge/registry"
)

// Guard says how many rows a step may take away before somebody has to say that they are meant to go.
type Guard struct {
	Percent int    // of the rows published last; 0: 50, 100: any number
	Rows    uint64 // that may go even if they are more than that: a share of a small table says little
}

func (g Guard) percent() int {
	if g.Percent <= 0 {
		return 50
	}
	return g.Percent
}

func (g Guard) allowed(rows uint64) uint64 {
	if g.percent() >= 100 {
		return math.MaxUint64
	}
	return max(g.Rows, uint64(float64(rows)*float64(g.percent())/100))
}

// tally counts what a step makes of the rows published last. It closes once more of them go than may; what comes after that is counted and not published.
type tally struct {
	guard         Guard
	rows, allowed uint64
	full          bool // every row comes as Read, and those that do not come go
	deleted, kept atomic.Uint64
	closed        atomic.Bool
}

// tally begins to count a step. Without an epoch before it, and after an answer, any number of rows may go.
func (m *member) tally(full, accepted bool) *tally {
	t := &tally{guard: m.consumer.Guard, allowed: math.MaxUint64, full: full}
	if last, ok := m.publisher.Last(); ok && last.Rows != nil && !accepted {
		t.rows, t.allowed = *last.Rows, t.guard.allowed(*last.Rows)
	}
	return t
}

// pass counts a change and says whether it is to be published.
func (t *tally) pass(op differ.Op) bool {
	switch op {
	case differ.Delete:
		if t.deleted.Add(1) > t.allowed {
			t.closed.Store(true)
		}
	case differ.Read:
		t.kept.Add(1)
	}
	return !t.closed.Load()
}

// gone is the number of rows that the step takes away; of a full epoch the least that it can be.
func (t *tally) gone() uint64 {
	if !t.full {
		return t.deleted.Load()
	}
	return t.rows - min(t.rows, t.kept.Load())
}

// verdict is called once all is counted; nil lets the step pass.
func (t *tally) verdict() error {
	n := t.gone()
	if n <= t.allowed {
		return nil
	}
	text := fmt.Sprintf("%d of %d rows would be deleted, and more than %d %% need an answer", n, t.rows, t.guard.percent())
	return &HeldError{registry.Question{Kind: registry.ManyDeletes, Text: text, Deletes: n, Rows: t.rows}}
}
