package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// fakeSource publishes what the test gives it.
type fakeSource struct {
	mu      sync.Mutex
	epochs  []stream.Epoch
	changes map[uint64][]stream.Change
	err     error            // of the next call of Next
	broken  map[uint64]error // of Changes
	more    chan struct{}
}

func newSource() *fakeSource {
	return &fakeSource{changes: map[uint64][]stream.Change{}, broken: map[uint64]error{}, more: make(chan struct{})}
}

func (s *fakeSource) publish(e stream.Epoch, changes ...stream.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Consumer, e.Chain, e.Number = "accounts", "chain", uint64(len(s.epochs)+1)
	if e.Full {
		e.Start = e.Number
	} else if e.Number > 1 {
		e.Start = s.epochs[e.Number-2].Start
	}
	if e.Snapshot.Location == "" {
		e.Snapshot = stream.SnapshotRef{CheckpointID: int64(e.Number)}
	}
	if e.Columns == nil {
		e.Columns = []stream.Column{{Name: "id", Type: "string", Key: true}}
	}
	s.epochs, s.changes[e.Number] = append(s.epochs, e), changes
	close(s.more)
	s.more = make(chan struct{})
}

func (s *fakeSource) Next(ctx context.Context, _, chain string, after uint64) (stream.Epoch, error) {
	for {
		s.mu.Lock()
		err, more := s.err, s.more
		s.err = nil
		for _, e := range slices.Backward(s.epochs) {
			if err == nil && (e.Chain == chain && e.Number == after+1 || chain == "" && e.Full) {
				s.mu.Unlock()
				return e, nil
			}
		}
		s.mu.Unlock()
		if err != nil {
			return stream.Epoch{}, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return stream.Epoch{}, ctx.Err()
		}
	}
}

func (s *fakeSource) Head(context.Context, string) (stream.Epoch, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.epochs) == 0 {
		return stream.Epoch{}, false, nil
	}
	return s.epochs[len(s.epochs)-1], true, nil
}

func (s *fakeSource) Changes(_ context.Context, e stream.Epoch) iter.Seq2[[]stream.Change, error] {
	return func(yield func([]stream.Change, error) bool) {
		s.mu.Lock()
		changes, broken := s.changes[e.Number], s.broken[e.Number]
		delete(s.broken, e.Number)
		s.mu.Unlock()
		for c := range slices.Chunk(changes, 1) {
			if !yield(c, nil) {
				return
			}
		}
		if broken != nil {
			yield(nil, broken)
		}
	}
}

// fakeSink keeps rows in a map, and fails when told to.
type fakeSink struct {
	mu       sync.Mutex
	at       sinks.Position
	rows     map[string]bool
	prepared int
	begun    []stream.Epoch
	fail     map[string][]error // by step: the errors of the next calls
	misfit   string             // name of a column that does not fit
	columns  []stream.Column    // prepared last
}

func newSink() *fakeSink { return &fakeSink{rows: map[string]bool{}, fail: map[string][]error{}} }

func (s *fakeSink) failure(step string) error {
	if len(s.fail[step]) == 0 {
		return nil
	}
	err := s.fail[step][0]
	s.fail[step] = s.fail[step][1:]
	return err
}

func (s *fakeSink) Prepare(_ context.Context, t sinks.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared++
	if s.misfit != "" && slices.ContainsFunc(t.Columns, func(c stream.Column) bool { return c.Name == s.misfit }) {
		return sinks.Permanent(fmt.Errorf("column %q does not fit", s.misfit))
	}
	s.columns = t.Columns
	return s.failure("prepare")
}

func (s *fakeSink) Position(context.Context, sinks.Table) (sinks.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at, s.failure("position")
}

func (s *fakeSink) Begin(_ context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) (sinks.Transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure("begin"); err != nil {
		return nil, err
	}
	if from.Revision != s.at.Revision {
		return nil, sinks.ErrFenced
	}
	if !slices.Equal(t.Columns, to.Columns) || !slices.Equal(s.columns, to.Columns) {
		return nil, sinks.Permanent(fmt.Errorf("prepared for %v, begun with %v for %v", s.columns, t.Columns, to.Columns))
	}
	s.begun = append(s.begun, to)
	x := &fakeTransaction{sink: s, to: to, rows: map[string]bool{}}
	if !to.Full {
		for k := range s.rows {
			x.rows[k] = true
		}
	}
	return x, nil
}

func (s *fakeSink) Close() error { return nil }

type fakeTransaction struct {
	sink *fakeSink
	to   stream.Epoch
	rows map[string]bool
}

func (x *fakeTransaction) Apply(_ context.Context, changes []stream.Change) error {
	for _, c := range changes {
		x.rows[string(c.Key)] = true
	}
	return x.sink.failure("apply")
}

func (x *fakeTransaction) Commit(context.Context) error {
	x.sink.mu.Lock()
	defer x.sink.mu.Unlock()
	err := x.sink.failure("commit")
	if err == nil || errors.Is(err, errReplyLost) {
		at := x.sink.at
		x.sink.rows = x.rows
		x.sink.at = sinks.Position{Chain: x.to.Chain, Epoch: x.to.Number, Snapshot: x.to.Snapshot, Revision: at.Revision + 1}
	}
	return err
}

func (x *fakeTransaction) Rollback(context.Context) error { return nil }

var (
	errReplyLost = errors.New("the connection broke after COMMIT")
	errBroken    = errors.New("broken pipe")
)

// fakeRegistry remembers what it was told.
type fakeRegistry struct {
	mu      sync.Mutex
	at      registry.Position
	resyncs []registry.Resync
	onAsk   func()
}

func (r *fakeRegistry) SetPosition(_ context.Context, p registry.Position) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = p
	return nil
}

func (r *fakeRegistry) RestorePosition(ctx context.Context, p registry.Position) error {
	r.mu.Lock()
	known := r.at.Sink != ""
	r.mu.Unlock()
	if known {
		return nil
	}
	return r.SetPosition(ctx, p)
}

func (r *fakeRegistry) RequestResync(_ context.Context, q registry.Resync) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resyncs = append(r.resyncs, q)
	if r.onAsk != nil {
		r.onAsk()
	}
	return nil
}

// run starts a Worker, lets f play, and gives what Run returned.
func run(t *testing.T, source *fakeSource, sink *fakeSink, reg *fakeRegistry, f func(w *sinks.Worker)) error {
	t.Helper()
	return runWith(t, slog.New(slog.DiscardHandler), source, sink, reg, f)
}

func runWith(t *testing.T, log *slog.Logger, source *fakeSource, sink *fakeSink, reg *fakeRegistry, f func(w *sinks.Worker)) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := sinks.NewWorker("pg", sink, []sinks.Table{{Source: "bank", Consumer: "accounts"}}, source, reg, log, sinks.Options{})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	f(w)
	cancel()
	return <-done
}

func change(id string) stream.Change {
	return stream.Change{Op: 'r', Key: []byte(id), After: []byte(id)}
}

func caughtUp(t *testing.T, w *sinks.Worker, epoch uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the bubble's clock
	defer cancel()
	if err := w.Wait(ctx, stream.Epoch{Consumer: "accounts", Chain: "chain", Number: epoch}); err != nil {
		t.Fatalf("waiting for epoch %d: %v", epoch, err)
	}
}

func TestWorkerFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := newSource(), newSink(), &fakeRegistry{}
		source.publish(stream.Epoch{Full: true}, change("a"))
		err := run(t, source, sink, reg, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			source.publish(stream.Epoch{}, change("b"))
			source.publish(stream.Epoch{Columns: []stream.Column{{Name: "id", Type: "string", Key: true}, {Name: "new", Type: "string"}}}, change("c"))
			caughtUp(t, w, 3)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(sink.rows) != 3 || reg.at.Epoch != 3 || reg.at.Sink != "pg" || reg.at.Consumer != "accounts" {
			t.Errorf("rows = %v, registry = %+v", sink.rows, reg.at)
		}
		if sink.prepared != 2 {
			t.Errorf("prepared %d times, want 2: at the start and when the columns changed", sink.prepared)
		}
	})
}

// TestWorkerRetries: whatever fails, however often, each epoch takes effect once.
func TestWorkerRetries(t *testing.T) {
	for _, step := range []string{"prepare", "position", "begin", "apply", "commit"} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, sink := newSource(), newSink()
				sink.fail[step] = []error{errBroken, errBroken, sinks.ErrFenced, errBroken}
				source.publish(stream.Epoch{Full: true}, change("a"))
				source.publish(stream.Epoch{}, change("b"))
				if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) { caughtUp(t, w, 2) }); err != nil {
					t.Fatal(err)
				}
				if len(sink.rows) != 2 || sink.at.Revision != 2 {
					t.Errorf("rows = %v at %+v", sink.rows, sink.at)
				}
			})
		})
	}
}

func TestWorkerFindsLostCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		sink.fail["commit"] = []error{errReplyLost}
		source.publish(stream.Epoch{Full: true}, change("a"))
		source.publish(stream.Epoch{}, change("b"))
		if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) { caughtUp(t, w, 2) }); err != nil {
			t.Fatal(err)
		}
		if len(sink.begun) != 2 {
			t.Errorf("%d transactions, want 2: a commit whose reply was lost is not repeated", len(sink.begun))
		}
	})
}

func TestWorkerStopsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		sink.fail["apply"] = []error{sinks.Permanent(errors.New("no such right"))}
		source.publish(stream.Epoch{Full: true}, change("a"))
		err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
			err := w.Wait(t.Context(), stream.Epoch{Consumer: "accounts", Chain: "chain", Number: 1})
			if err == nil || !strings.HasPrefix(err.Error(), `sink "pg": consumer "accounts": epoch 1: no such right (`) {
				t.Errorf("Wait = %v, want the sink and its reason first", err)
			}
		})
		if err == nil || !strings.Contains(err.Error(), `sink "pg": consumer "accounts": epoch 1: no such right`) {
			t.Errorf("Run = %v", err)
		}
	})
}

// TestWaitForStoppedWorker: a Worker that was told to stop has no error of its own, and whoever waits still learns its name.
func TestWaitForStoppedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped *sinks.Worker
		if err := run(t, newSource(), newSink(), &fakeRegistry{}, func(w *sinks.Worker) { stopped = w }); err != nil {
			t.Fatal(err)
		}
		if err := stopped.Wait(t.Context(), stream.Epoch{Consumer: "accounts", Chain: "chain", Number: 1}); err == nil || !strings.HasPrefix(err.Error(), `sink "pg": consumer "accounts": `) {
			t.Errorf("Wait = %v", err)
		}
	})
}

func TestWorkerAsksForResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := newSource(), newSink(), &fakeRegistry{}
		sink.at = sinks.Position{Chain: "other", Epoch: 7, Revision: 3}
		source.err = stream.ErrResync
		reg.onAsk = func() {
			sink.at.Chain = "" // what Next would do for a foreign chain
			source.publish(stream.Epoch{Full: true, Resync: true}, change("a"))
		}
		if err := run(t, source, sink, reg, func(w *sinks.Worker) { caughtUp(t, w, 1) }); err != nil {
			t.Fatal(err)
		}
		if len(reg.resyncs) != 1 || reg.resyncs[0].Chain != "other" || reg.resyncs[0].After != 7 || reg.resyncs[0].Sink != "pg" {
			t.Errorf("asked for %+v", reg.resyncs)
		}
	})
}

// TestWorkerGap: an epoch that is not whole in the stream leaves nothing behind.
func TestWorkerGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		source.publish(stream.Epoch{Full: true}, change("a"), change("b"))
		source.broken[1] = &stream.GapError{Consumer: "accounts", Number: 1, Reason: "31 changes found"}
		if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) { caughtUp(t, w, 1) }); err != nil {
			t.Fatal(err)
		}
		if len(sink.begun) != 2 || sink.at.Revision != 1 {
			t.Errorf("%d transactions, position %+v", len(sink.begun), sink.at)
		}
	})
}

// TestWorkerFastForwards: a full epoch made for another sink's sake moves the position and reads no rows.
func TestWorkerFastForwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		at := stream.SnapshotRef{Job: "j", CheckpointID: 9, Location: "chk-9"}
		source.publish(stream.Epoch{Full: true, Snapshot: at}, change("a"))
		wider := []stream.Column{{Name: "id", Type: "string", Key: true}, {Name: "new", Type: "string"}}
		if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			source.publish(stream.Epoch{Full: true, Resync: true, Snapshot: at}, change("x"))
			caughtUp(t, w, 2)
			if sink.begun[1].Full || sink.begun[1].Number != 2 || sink.rows["x"] {
				t.Errorf("second epoch: %+v, rows %v", sink.begun[1], sink.rows)
			}
			source.publish(stream.Epoch{Full: true, Snapshot: at}, change("b"))
			caughtUp(t, w, 3)
			source.publish(stream.Epoch{Full: true, Resync: true, Snapshot: at, Columns: wider}, change("c"))
			caughtUp(t, w, 4)
		}); err != nil {
			t.Fatal(err)
		}
		if !sink.begun[2].Full {
			t.Error("a full epoch that nobody asked for was passed over")
		}
		if !sink.begun[3].Full || !sink.rows["c"] {
			t.Error("a full epoch with other columns was passed over")
		}
	})
}

// TestWorkerRefusesAForeignBase: a delta against a snapshot that the target does not hold has no effect; a full epoch mends it.
func TestWorkerRefusesAForeignBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		source.publish(stream.Epoch{Full: true}, change("a"))
		err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			source.publish(stream.Epoch{Base: &stream.SnapshotRef{CheckpointID: 99}}, change("b"))
			source.publish(stream.Epoch{Full: true}, change("c"))
			caughtUp(t, w, 3)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range sink.begun {
			if e.Number == 2 {
				t.Error("the foreign delta was begun")
			}
		}
		if !sink.rows["c"] || sink.rows["b"] {
			t.Errorf("rows = %v", sink.rows)
		}
	})
}

// TestWorkerLooksAgain: rows that vanish while nothing is published are noticed.
func TestWorkerLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newSource(), newSink()
		source.publish(stream.Epoch{Full: true}, change("a"))
		if err := run(t, source, sink, &fakeRegistry{}, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			sink.mu.Lock()
			sink.at, sink.rows = sinks.Position{Revision: sink.at.Revision}, map[string]bool{}
			sink.mu.Unlock()
			time.Sleep(time.Minute)
		}); err != nil {
			t.Fatal(err)
		}
		if !sink.rows["a"] || sink.at.Epoch != 1 {
			t.Errorf("rows = %v at %+v", sink.rows, sink.at)
		}
	})
}

// TestIdleWorkerStillReports: the registry may have lost a position, or had it removed, and a publisher waits for it. Having nothing to do counts as failing only for
// those who wait for more.
func TestIdleWorkerStillReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := newSource(), newSink(), &fakeRegistry{}
		source.publish(stream.Epoch{Full: true}, change("a"))
		err := run(t, source, sink, reg, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			reg.mu.Lock()
			reg.at = registry.Position{}
			reg.mu.Unlock()
			time.Sleep(time.Minute)
			reg.mu.Lock()
			defer reg.mu.Unlock()
			if reg.at.Epoch != 1 || reg.at.Consumer != "accounts" {
				t.Errorf("the registry has %+v", reg.at)
			}
			if reached, err := w.Reached(stream.Epoch{Consumer: "accounts", Chain: "chain", Number: 2}); reached || err != nil || w.Failing() == nil {
				t.Errorf("reached: %t, %v; failing: %v", reached, err, w.Failing())
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestWorkerNoticesANumberGivenOutAgain: the server lost the newest epoch, another one got its number, and nothing follows.
func TestWorkerNoticesANumberGivenOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink, reg := newSource(), newSink(), &fakeRegistry{}
		reg.onAsk = func() { source.publish(stream.Epoch{Full: true, Resync: true}, change("a"), change("c")) }
		source.publish(stream.Epoch{Full: true}, change("a"))
		err := run(t, source, sink, reg, func(w *sinks.Worker) {
			caughtUp(t, w, 1)
			source.publish(stream.Epoch{}, change("b"))
			caughtUp(t, w, 2)
			source.mu.Lock()
			source.epochs = source.epochs[:1]
			source.mu.Unlock()
			source.publish(stream.Epoch{Snapshot: stream.SnapshotRef{CheckpointID: 7, Location: "chk-7"}}, change("c"))
			caughtUp(t, w, 3)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(reg.resyncs) != 1 || !sink.rows["c"] || sink.rows["b"] {
			t.Errorf("asked %d times, rows = %v", len(reg.resyncs), sink.rows)
		}
	})
}
