package stream

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A publisher that dies leaves what it had stored, and no more. Whoever comes next either supersedes or completes it, and readers see exactly that.
func TestPublisherDies(t *testing.T) {
	changes := []Change{row('u', 0, 1), row('c', 1, 2), row('d', 2, 3)}
	steps := map[string]struct {
		die       func(t *testing.T, w *Writer)
		completed bool
	}{
		"after begin":     {func(t *testing.T, w *Writer) {}, false},
		"between changes": {func(t *testing.T, w *Writer) { appendAll(t, w, changes[:2]...); flushAll(t, w) }, false},
		"after changes":   {func(t *testing.T, w *Writer) { appendAll(t, w, changes...); finish(t, w) }, false},
		"after deciding":  {func(t *testing.T, w *Writer) { appendAll(t, w, changes...); finish(t, w); decide(t, w) }, true},
		"after 1 commit line": {func(t *testing.T, w *Writer) {
			appendAll(t, w, changes...)
			finish(t, w)
			decide(t, w)
			commitLineOf(t, w, 0)
		}, true},
		"before its record": {func(t *testing.T, w *Writer) {
			appendAll(t, w, changes...)
			finish(t, w)
			decide(t, w)
			for i := range w.lanes {
				commitLineOf(t, w, i)
			}
		}, true},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := connect(t, dir)
			p := publisher(t, source(t, b, "bank"), "accounts")
			first := publish(t, p, fullEpoch(1, 3), row('r', 0, 1), row('r', 2, 3))
			w := begin(t, p, deltaEpoch(2, 3))
			step.die(t, w)
			w.ended.Do(w.end) // and no more
			b.Close()

			s := source(t, connect(t, dir), "bank")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if e, err := s.Next(ctx, "accounts", first.Chain, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("an epoch without a record is shown: %+v, %v", e, err)
			}
			p = publisher(t, s, "accounts")
			last, ok := p.Last()
			if !ok || (last.Number == 2) != step.completed {
				t.Fatalf("last = %+v, %v", last, ok)
			}
			if !step.completed {
				publish(t, p, deltaEpoch(2, 3), changes...)
			}
			second, err := next(t, s, "accounts", first.Chain, 1)
			if err != nil {
				t.Fatal(err)
			}
			if (second.Attempt == w.epoch.Attempt) != step.completed {
				t.Fatalf("attempt %s, the dead one was %s", second.Attempt, w.epoch.Attempt)
			}
			rows, err := collect(t, s, second)
			if err != nil {
				t.Fatal(err)
			}
			wantChanges(t, rows, changes...)
			third := publish(t, p, deltaEpoch(3, 3), row('u', 0, 4))
			if third.Number != 3 || third.Previous != second.Attempt {
				t.Fatalf("third epoch: %+v", third)
			}
		})
	}
}

func flushAll(t *testing.T, w *Writer) {
	t.Helper()
	for i := range w.lanes {
		if err := w.flush(t.Context(), &w.lanes[i], i); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, w *Writer) {
	t.Helper()
	w.ended.Do(func() {
		if err := w.finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func decide(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.decide(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func commitLineOf(t *testing.T, w *Writer, partition int) {
	t.Helper()
	line, err := w.epoch.commit(partition)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.src.bus.js.PublishMsg(t.Context(), w.src.message(&w.epoch, partition, kindCommit, 0, 0, line)); err != nil {
		t.Fatal(err)
	}
}

// A publisher that was thought dead wakes up in the middle of its epoch.
func TestZombieIsFenced(t *testing.T) {
	t.Run("superseded, not yet committed", func(t *testing.T) {
		s := newSource(t)
		zombie := publisher(t, s, "accounts")
		w := begin(t, zombie, fullEpoch(1, 2))
		appendAll(t, w, row('r', 0, 1))
		flushAll(t, w)
		heir := begin(t, publisher(t, s, "accounts"), fullEpoch(1, 2))
		appendAll(t, heir, row('r', 1, 7))
		appendAll(t, w, row('r', 0, 2), row('r', 1, 3))
		_, err := w.Commit(t.Context())
		wantError(t, err, ErrFenced, "accounts/1")

		e := commit(t, heir) // over the zombie's late changes
		rows, err := collect(t, s, e)
		if err != nil {
			t.Fatal(err)
		}
		wantChanges(t, rows, row('r', 1, 7))
	})
	t.Run("its epoch was published by another", func(t *testing.T) {
		s := newSource(t)
		zombie := publisher(t, s, "accounts")
		w := begin(t, zombie, fullEpoch(1, 2))
		publish(t, publisher(t, s, "accounts"), fullEpoch(1, 2), row('r', 1, 7))
		_, err := w.Commit(t.Context())
		wantError(t, err, ErrFenced)

		_, err = zombie.Begin(t.Context(), fullEpoch(1, 2))
		wantError(t, err, ErrFenced)
		last, ok := zombie.Last()
		if !ok || last.Number != 1 {
			t.Fatalf("the fenced publisher does not know what was published: %+v", last)
		}
		if e := publish(t, zombie, deltaEpoch(2, 2)); e.Number != 2 {
			t.Fatalf("%+v", e)
		}
	})
	t.Run("decided, and completed by another", func(t *testing.T) {
		s := newSource(t)
		zombie := publisher(t, s, "accounts")
		w := begin(t, zombie, fullEpoch(1, 2))
		appendAll(t, w, row('r', 0, 1))
		finish(t, w)
		decide(t, w)
		last, ok := publisher(t, s, "accounts").Last()
		if !ok || last.Attempt != w.epoch.Attempt {
			t.Fatalf("%+v", last)
		}
		won, err := s.createRecord(t.Context(), w.epoch)
		if err != nil || !won {
			t.Fatalf("its own record: %v, %v", won, err)
		}
	})
	t.Run("two records of one number", func(t *testing.T) {
		s := newSource(t)
		e := publish(t, publisher(t, s, "accounts"), fullEpoch(1, 1), row('r', 0, 1))
		e.Attempt = "another"
		if won, err := s.createRecord(t.Context(), e); won || err != nil {
			t.Fatalf("%v, %v", won, err)
		}
	})
}

func TestTwoPublishersRace(t *testing.T) {
	s := newSource(t)
	const rounds = 20
	wins := 0
	for round := range rounds {
		results := make(chan error, 2)
		a, b := publisher(t, s, "accounts"), publisher(t, s, "accounts")
		for i, p := range []*Publisher{a, b} {
			go func() { results <- race(t.Context(), p, int64(round+1), i) }()
		}
		won := 0
		for range 2 {
			switch err := <-results; {
			case err == nil:
				won++
			case !errors.Is(err, ErrFenced):
				t.Fatal(err)
			}
		}
		if won == 2 { // one after the other is no race
			wins++
		} else if won != 1 {
			t.Fatalf("round %d: %d publishers won", round, won)
		}
	}
	epochs, err := s.Epochs(t.Context(), "accounts")
	if err != nil || len(epochs) != rounds+wins {
		t.Fatalf("%d epochs, %v", len(epochs), err)
	}
	for i, e := range epochs {
		if e.Number != uint64(i+1) || i > 0 && e.Previous != epochs[i-1].Attempt {
			t.Fatalf("epoch %d: %+v", i+1, e)
		}
		if _, err := collect(t, s, e); err != nil {
			t.Fatal(err)
		}
	}
}

func race(ctx context.Context, p *Publisher, id int64, who int) error {
	w, err := p.Begin(ctx, fullEpoch(id, 3))
	if err != nil {
		return err
	}
	defer w.Abort()
	for n := range 50 {
		if err := w.Append(ctx, row('r', n%3, who*1000+n)); err != nil {
			return err
		}
	}
	_, err = w.Commit(ctx)
	return err
}
