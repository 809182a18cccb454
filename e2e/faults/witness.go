package faults

// state names a checkpoint of one life of the job.
type state struct {
	job        string
	checkpoint int64
}

// digests are those of the tables of one checkpoint.
type digests struct{ accounts, others int64 }

// witness judges what a reader saw of all accounts at once. The sum that it sees first is the one that must never change.
type witness struct {
	*ledger
	name   string
	at     *track
	sum    int64 // of all accounts but the bank's own, in every checkpoint
	looks  int
	states map[state]digests // of what was seen
}

func newWitness(l *ledger, name string) *witness {
	return &witness{ledger: l, name: name, at: &track{name: name, ledger: l}, states: map[state]digests{}}
}

func (w *witness) see(p position, s state, n, sum int64, digest digests) {
	if w.looks == 0 {
		w.sum = sum
	}
	w.looks++
	if n != accounts+1 || sum != w.sum {
		w.differ("%s showed %d accounts and the sum %d, want %d and %d (epoch %d, checkpoint %d)", w.name, n, sum, accounts+1, w.sum, p.epoch, s.checkpoint)
	}
	if was, ok := w.states[s]; ok && was != digest {
		w.differ("%s showed checkpoint %d in two versions", w.name, s.checkpoint)
	}
	w.states[s] = digest
	w.at.see(p)
}

// compare judges by what the checkpoints hold, once all has been seen.
func (w *witness) compare(held map[state]digests) {
	for s, digest := range w.states {
		if want, ok := held[s]; !ok || want != digest {
			w.differ("%s showed, for checkpoint %d of job %s, what that does not hold", w.name, s.checkpoint, s.job)
		}
	}
	w.note("looked %d times at %s and saw %d of %d checkpoints", w.looks, w.name, len(w.states), len(held))
	if len(w.states) < 3 {
		w.differ("only %d states were seen in %s", len(w.states), w.name)
	}
}
