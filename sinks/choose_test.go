package sinks_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

func begun(s *fakeSink) (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.begun {
		numbers = append(numbers, e.Number)
	}
	return numbers
}

func wantBegun(t *testing.T, s *fakeSink, numbers ...uint64) {
	t.Helper()
	if got := begun(s); !slices.Equal(got, numbers) {
		t.Errorf("epochs %v were begun, want %v", got, numbers)
	}
}

// history is a full epoch and two deltas: what a new target must not live through.
func history() *fakeSource {
	source := newSource()
	source.publish(stream.Epoch{Full: true}, change("a"))
	source.publish(stream.Epoch{}, change("b"))
	source.publish(stream.Epoch{}, change("c"))
	return source
}

// TestNewTargetStartsAtTheHead: it asks for a full epoch and takes the one that answers, though a delta follows at once.
func TestNewTargetStartsAtTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := history(), newSink(), &fakeRegistry{}
		reg.onAsk = func() {
			source.publish(stream.Epoch{}, change("d")) // was under way
			source.publish(stream.Epoch{Full: true, Resync: true}, change("a"))
			source.publish(stream.Epoch{}, change("e"))
		}
		if err := run(t, source, sink, reg, func(w *sinks.Worker) { caughtUp(t, w, 6) }); err != nil {
			t.Fatal(err)
		}
		wantBegun(t, sink, 5, 6)
		if len(reg.resyncs) != 1 || reg.resyncs[0].Sink != "pg" || reg.resyncs[0].Reason != sinks.PositionGone {
			t.Errorf("asked for %+v", reg.resyncs)
		}
	})
}

// TestNewTargetAsksForNothing: the newest epoch is a full one already.
func TestNewTargetAsksForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := history(), newSink(), &fakeRegistry{}
		source.publish(stream.Epoch{Full: true}, change("a"))
		if err := run(t, source, sink, reg, func(w *sinks.Worker) { caughtUp(t, w, 4) }); err != nil {
			t.Fatal(err)
		}
		if wantBegun(t, sink, 4); len(reg.resyncs) > 0 {
			t.Errorf("asked for %+v", reg.resyncs)
		}
	})
}

// TestNobodyAnswers: without a publisher the old epochs are better than none. A transient error does not start the wait anew.
func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := history(), newSink(), &fakeRegistry{}
		sink.fail["begin"] = []error{errBroken}
		start := time.Now()
		if err := run(t, source, sink, reg, func(w *sinks.Worker) { caughtUp(t, w, 3) }); err != nil {
			t.Fatal(err)
		}
		if wantBegun(t, sink, 1, 2, 3); len(reg.resyncs) != 1 {
			t.Errorf("asked for %+v", reg.resyncs)
		}
		if waited := time.Since(start); waited < 10*time.Second || waited > 15*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestLossIsTold: once, with its reason, and the target comes back at the head, not through the past.
func TestLossIsTold(t *testing.T) {
	testLoss(t, sinks.TableDropped, "level=WARN msg=\"the target has lost its rows or its position and needs a full epoch\"")
}

// TestChangedKindIsNoLoss: rows that are to be kept in another way alarm nobody.
func TestChangedKindIsNoLoss(t *testing.T) {
	testLoss(t, sinks.KeptOtherwise, "level=INFO msg=\"the target's rows are to be kept in another way from now on, which takes a full epoch\"")
}

func testLoss(t *testing.T, reason, message string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := newSource(), newSink(), &fakeRegistry{}
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelInfo}))
		source.publish(stream.Epoch{Full: true}, change("a"))
		if err := runWith(t, log, source, sink, reg, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			source.publish(stream.Epoch{}, change("b"))
			caughtUp(t, w, 2)
			sink.mu.Lock()
			sink.at, sink.rows = sinks.Position{Revision: sink.at.Revision, Lost: reason}, map[string]bool{}
			sink.mu.Unlock()
			time.Sleep(35 * time.Second) // noticed, asked, and not yet answered
			source.publish(stream.Epoch{Full: true, Resync: true}, change("a"), change("b"))
			caughtUp(t, w, 3)
		}); err != nil {
			t.Fatal(err)
		}
		wantBegun(t, sink, 1, 2, 3)
		text := said.String()
		if line := message + ` sink=pg consumer=accounts source=bank reason="` + reason + `" epoch_before=2`; strings.Count(text, line) != 1 || strings.Count(text, "level=WARN") != strings.Count(message, "level=WARN") {
			t.Errorf("said:\n%s", text)
		}
		if len(reg.resyncs) != 1 || reg.resyncs[0].Reason != reason {
			t.Errorf("asked for %+v", reg.resyncs)
		}
	})
}

// TestRefusedEpochIsPassedOver: a mistake in the config that was put right leaves an epoch that does not fit, and a full one behind it that does.
func TestRefusedEpochIsPassedOver(t *testing.T) {
	wrong := []stream.Column{{Name: "id", Type: "string", Key: true}, {Name: "wrong", Type: "string"}}
	for name, refuse := range map[string]func(*fakeSink){
		"preflight": func(s *fakeSink) { s.misfit = "wrong" },
		"row":       func(s *fakeSink) { s.fail["apply"] = []error{nil, sinks.Permanent(errors.New("no such value"))} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, sink := newSource(), newSink()
				refuse(sink)
				source.publish(stream.Epoch{Full: true}, change("a"))
				if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
					caughtUp(t, w, 1)
					sink.mu.Lock() // holds the Worker up
					source.publish(stream.Epoch{Full: true, Columns: wrong}, change("b"))
					source.publish(stream.Epoch{Full: true}, change("c"))
					source.publish(stream.Epoch{}, change("d"))
					sink.mu.Unlock()
					caughtUp(t, w, 4)
				}); err != nil {
					t.Fatal(err)
				}
				if len(sink.rows) != 2 || !sink.rows["c"] || !sink.rows["d"] {
					t.Errorf("rows = %v", sink.rows)
				}
			})
		})
	}
}

// TestRefusedForGood: with nothing newer, or only what is refused as well, the Worker ends with the last refusal.
func TestRefusedForGood(t *testing.T) {
	wrong := []stream.Column{{Name: "id", Type: "string", Key: true}, {Name: "wrong", Type: "string"}}
	for _, newer := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			source, sink := newSource(), newSink()
			source.publish(stream.Epoch{Full: true}, change("a"))
			err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
				caughtUp(t, w, 1)
				sink.mu.Lock()
				sink.misfit = "wrong"
				sink.mu.Unlock()
				for range newer + 1 {
					source.publish(stream.Epoch{Full: true, Columns: wrong}, change("b"))
				}
				source.publish(stream.Epoch{Columns: wrong}, change("b"))
				time.Sleep(time.Hour)
			})
			var permanent *sinks.PermanentError
			if !errors.As(err, &permanent) || !strings.Contains(err.Error(), `column "wrong" does not fit`) {
				t.Errorf("err = %v", err)
			}
			wantBegun(t, sink, 1)
		})
	}
}
