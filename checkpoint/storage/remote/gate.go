package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// gate bounds the requests under way. When the store refuses one for being asked too much only half as many may be, and then a few more with
// each round that goes well.
type gate struct {
	turns chan struct{} // full: nobody may enter

	mu    sync.Mutex
	kept  int // turns that nobody has and that are not given on
	keep  int // how many should be
	round int // requests until the next step, in either direction
}

// After a refusal those that were sent before it say nothing new. A round that went well makes the gate wider by a growth.
const growth = 8

func newGate(requests int) *gate { return &gate{turns: make(chan struct{}, requests)} }

func (g *gate) enter(ctx context.Context) error {
	select {
	case g.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the turn on, unless the gate has become narrower.
func (g *gate) leave(tooMuch bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wide := cap(g.turns) - g.keep
	g.round--
	switch {
	case tooMuch && (g.round <= 0 || g.keep == 0):
		g.keep += wide / 2
		g.round = wide
	case g.round <= 0 && g.keep > 0:
		g.keep -= min(g.keep, wide/growth+1)
		g.round = wide
	}
	if g.kept < g.keep {
		g.kept++
		return
	}
	<-g.turns
	for ; g.kept > g.keep; g.kept-- {
		<-g.turns
	}
}

// width is how many may be under way.
func (g *gate) width() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cap(g.turns) - g.keep
}

// tooMuch says whether a store asks to be asked less.
func tooMuch(err error) bool {
	var r *RefusalError
	return errors.As(err, &r) && (r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable)
}
