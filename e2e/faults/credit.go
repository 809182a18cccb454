package faults

import "sync"

// credits are the times that an epoch may be seen to go back, since a server was set back to older files: each does that once at most, and perhaps
// much later.
type credits struct {
	mu sync.Mutex
	n  int
}

func (c *credits) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// spend says whether there was one left.
func (c *credits) spend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return false
	}
	c.n--
	return true
}

// position is how far a target says that it is.
type position struct {
	chain string
	epoch int64
}

// track sees to it that a target's epochs never go back.
type track struct {
	name string
	*ledger
	credits
	last position
}

func (k *track) see(p position) {
	if p.chain == k.last.chain && p.epoch < k.last.epoch && !k.spend() {
		k.differ("%s went back from epoch %d to %d", k.name, k.last.epoch, p.epoch)
	}
	k.last = p
}
