package remote

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// TestGate: a store that serves no more than so many at once is soon asked no more, and a gate opens again once nothing is refused.
func TestGate(t *testing.T) {
	const most, serves = 64, 10
	g := newGate(most)
	var now, refused atomic.Int64
	ask := func(serves int64) {
		var all sync.WaitGroup
		for range 3000 {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				over := now.Add(1) > serves
				if over {
					refused.Add(1)
				}
				now.Add(-1)
				g.leave(over)
			})
		}
		all.Wait()
	}
	g.leaveAfterRefusals(t, 4)
	if w := g.width(); w != most/2 {
		t.Errorf("%d wide after refusals of one round, not %d", w, most/2)
	}
	ask(serves)
	if w := g.width(); w < 1 || w > most {
		t.Errorf("%d wide", w)
	}
	ask(most)
	if w := g.width(); w != most || len(g.turns) != 0 {
		t.Errorf("%d wide after a long time without refusals, %d turns taken", w, len(g.turns))
	}
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		if !tooMuch(&RefusalError{Status: status}) {
			t.Errorf("%d does not narrow the gate", status)
		}
	}
	if tooMuch(&RefusalError{Status: http.StatusNotFound}) || tooMuch(nil) {
		t.Error("any answer narrows the gate")
	}
}

// leaveAfterRefusals has some requests of one round refused.
func (g *gate) leaveAfterRefusals(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		g.leave(true)
	}
}
