package faults

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A ledger counts the faults and what should not have been.
type ledger struct {
	t     testing.TB
	began time.Time

	mu          sync.Mutex
	faults      int
	differences int
	finished    bool
}

// total is the ledger of the bank that was opened last.
var total struct {
	sync.Mutex
	*ledger
}

func newLedger(t testing.TB) *ledger { return &ledger{t: t, began: time.Now()} }

// sum makes l the one that the last line tells of.
func (l *ledger) sum() {
	total.Lock()
	defer total.Unlock()
	total.ledger = l
}

// Summary is the last line of a run; "" when there was none.
func Summary() string {
	total.Lock()
	defer total.Unlock()
	if total.ledger == nil {
		return ""
	}
	total.mu.Lock()
	defer total.mu.Unlock()
	line := fmt.Sprintf("%d faults, %d differences", total.faults, total.differences)
	if !total.finished {
		line += ", broken off"
	}
	return line
}

func (l *ledger) fault(f Fault) {
	l.t.Helper()
	l.mu.Lock()
	l.faults++
	n := l.faults
	l.mu.Unlock()
	l.t.Logf("%6.1fs fault %d: %s %s, %v", time.Since(l.began).Seconds(), n, f.Kind, f.Victim, f.For.Round(10*time.Millisecond))
}

func (l *ledger) note(format string, args ...any) {
	l.t.Helper()
	l.t.Logf("%6.1fs "+format, append([]any{time.Since(l.began).Seconds()}, args...)...)
}

// differ notes what should not have been.
func (l *ledger) differ(format string, args ...any) {
	l.t.Helper()
	l.mu.Lock()
	l.differences++
	l.mu.Unlock()
	l.t.Errorf("%6.1fs DIFFERENCE: "+format, append([]any{time.Since(l.began).Seconds()}, args...)...)
}

// finish says that all has been looked at.
func (l *ledger) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = true
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults
}
