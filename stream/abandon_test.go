package stream

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
)

func messages(t *testing.T, s *Source) uint64 {
	t.Helper()
	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// An attempt that is given up leaves its begin and abort lines, also for those who follow the subjects, and the next one goes on as if it had not been.
func TestAbortTakesBack(t *testing.T) {
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes = 1 }), "bank")
	p := publisher(t, s, "accounts")
	first := publish(t, p, fullEpoch(1, 2), row('r', 0, 1))
	before := messages(t, s)
	follow, err := s.bus.conn.SubscribeSync(s.filter("accounts"))
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, p, deltaEpoch(2, 2))
	for n := range 50 {
		appendAll(t, w, row('c', n%2, n))
	}
	appendAll(t, w, Change{Op: 'c', Key: row('c', 0, 99).Key, After: sized(s.Limit() + 1)})
	w.Abort()
	w.Abort()
	if n := messages(t, s) - before; n != 6 {
		t.Errorf("%d messages are left, want 3 begin and 3 abort lines", n)
	}
	if all, err := s.large.List(t.Context()); err == nil {
		t.Errorf("%d objects are left", len(all))
	}
	wantAborts(t, follow, w.epoch)
	second := publish(t, p, deltaEpoch(2, 2), row('u', 1, 1))
	if e, err := next(t, s, "accounts", first.Chain, 1); err != nil || e.Attempt != second.Attempt {
		t.Fatalf("%+v, %v", e, err)
	}
	rows, err := collect(t, s, second)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, row('u', 1, 1))
}

// wantAborts reads on until every subject of the attempt has said that it is over, after its changes.
func wantAborts(t *testing.T, follow *nats.Subscription, e Epoch) {
	t.Helper()
	over := map[string]bool{}
	for len(over) < e.Partitions+1 {
		m, err := follow.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if over[m.Subject] {
			t.Errorf("%s goes on after its abort line", m.Subject)
		}
		if m.Header.Get(headerKind) != kindAbort {
			continue
		}
		var line abortLine
		if err := json.Unmarshal(bytes.TrimSpace(m.Data), &line); err != nil {
			t.Fatal(err)
		}
		if over[m.Subject] = true; line.Op != "abort" || line.Attempt != e.Attempt || line.Epoch != e.Number {
			t.Errorf("%s", m.Data)
		}
	}
}

// Who was superseded says nothing where the other one has begun.
func TestAbortOfTheSuperseded(t *testing.T) {
	s := newSource(t)
	a, b := publisher(t, s, "accounts"), publisher(t, s, "accounts")
	late := begin(t, a, fullEpoch(1, 1))
	w := begin(t, b, fullEpoch(1, 1))
	appendAll(t, w, row('r', 0, 1))
	late.Abort()
	e, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t, s, e); err != nil {
		t.Fatal(err)
	}
}
