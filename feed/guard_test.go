package feed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
)

var (
	live  = feed.Consumer{Name: "live", Operator: "live-op", State: "seen"}
	ended = feed.Consumer{Name: "ended", Operator: "ended-op", State: "seen"}
)

// held publishes what there is and gives the question at which that ends. The newest epoch must be the one expected.
func (r *rig) held(f *feed.Feed, epoch uint64) registry.Question {
	r.t.Helper()
	epochs, err := f.Once(r.t.Context(), 0)
	e := r.own(epochs)
	held := new(feed.HeldError)
	if !errors.As(err, &held) || e.Number != epoch {
		r.t.Fatalf("epoch %d, %v", e.Number, err)
	}
	if head, _, err := r.source.Head(r.t.Context(), r.consumer.Name); err != nil || head.Number != epoch {
		r.t.Fatalf("published: epoch %d, %v", head.Number, err)
	}
	q, ok, err := r.registry.Question(r.t.Context(), r.consumer.Name)
	if err != nil || !ok {
		r.t.Fatalf("asked: %t, %v", ok, err)
	}
	return q
}

func (r *rig) say(answer string) {
	r.t.Helper()
	if _, err := r.registry.Answer(r.t.Context(), r.consumer.Name, 0, answer); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) free() {
	r.t.Helper()
	if q, ok, err := r.registry.Question(r.t.Context(), r.consumer.Name); ok || err != nil {
		r.t.Errorf("still asked: %v, %v", q, err)
	}
}

// TestManyDeletesAreHeld: nothing of the step becomes an epoch, and the rows that come back end it.
func TestManyDeletesAreHeld(t *testing.T) {
	r, m := newRig(t, fixture.Ended, live), &mirror{}
	r.arrive(1)
	r.once(r.feed())
	r.arrive(3)
	q := r.held(r.feed(), 1)
	if q.Kind != registry.ManyDeletes || q.Deletes != 50 || q.Rows != 60 || q.CheckpointID != 3 {
		t.Errorf("%+v", q)
	}
	if again := r.held(r.feed(), 1); !again.Time.Equal(q.Time) {
		t.Errorf("asked anew: %+v", again)
	}
	r.arriveAs(3, 7) // as bad
	if q := r.held(r.feed(), 1); q.CheckpointID != 3 || q.Newest != 7 {
		t.Errorf("%+v", q)
	}
	r.arriveAs(4, 8)
	e := r.once(r.feed())
	if e.Full || e.Base.CheckpointID != 1 || e.Snapshot.CheckpointID != 8 {
		t.Errorf("%+v", e)
	}
	m.follow(r, e)
	r.same(m, 4)
	r.free()
}

// TestRefusedAgainLeavesNothing in the stream but the first attempt, however many snapshots come.
func TestRefusedAgainLeavesNothing(t *testing.T) {
	var first [2]uint64
	for i, last := range []int{3, 9} {
		r := newRig(t, fixture.Ended, live)
		r.arrive(1)
		r.once(r.feed())
		for n := 3; n <= last; n++ {
			r.arriveAs(3, n)
			r.held(r.feed(), 1)
		}
		r.say(registry.Accept)
		first[i] = r.once(r.feed()).FirstSeq
	}
	if first[0] != first[1] {
		t.Errorf("the accepted epoch begins at %d after one refusal and at %d after seven", first[0], first[1])
	}
}

// TestAcceptedDeletesArePublished, and only those that were asked about.
func TestAcceptedDeletesArePublished(t *testing.T) {
	r, m := newRig(t, fixture.Ended, live), &mirror{}
	r.arrive(1)
	r.once(r.feed())
	if _, err := r.registry.Answer(t.Context(), "live", 0, registry.Accept); !errors.Is(err, registry.ErrNoQuestion) {
		t.Errorf("answered what nobody asks: %v", err)
	}
	r.arrive(3)
	r.held(r.feed(), 1)
	if _, err := r.registry.Answer(t.Context(), "live", 2, registry.Accept); !errors.Is(err, registry.ErrNoQuestion) {
		t.Errorf("answered for another checkpoint: %v", err)
	}
	r.say(registry.Accept)
	e := r.once(r.feed())
	if e.Full || e.Counts.D != 50 || *e.Rows != 10 {
		t.Errorf("%+v", e)
	}
	m.follow(r, e)
	r.same(m, 3)
	r.free()
	r.arriveAs(4, 4)
	r.once(r.feed())
	r.arriveAs(3, 5)
	r.held(r.feed(), 3)
}

// TestKeptRowsStay without a further word, until a snapshot needs no answer.
func TestKeptRowsStay(t *testing.T) {
	r, m := newRig(t, fixture.Ended, live), &mirror{}
	r.arrive(1)
	r.once(r.feed())
	r.arrive(3)
	r.held(r.feed(), 1)
	r.say(registry.Keep)
	for range 2 {
		if e := r.once(r.feed()); e.Number != 1 {
			t.Errorf("epoch %d", e.Number)
		}
	}
	r.arrive(4)
	m.follow(r, r.once(r.feed()))
	r.same(m, 4)
	r.free()
}

// TestAnswerGivenBefore holds for what was there, for the checkpoint that it names.
func TestAnswerGivenBefore(t *testing.T) {
	r := newRig(t, fixture.Ended, live)
	r.arrive(1)
	r.once(r.feed())
	r.arrive(3)
	r.answer = &feed.Answer{Answer: registry.Accept, Checkpoint: 2}
	r.held(r.feed(), 1)
	r.answer = &feed.Answer{Answer: registry.Accept, Checkpoint: 3}
	f := r.feed()
	if e := r.once(f); e.Number != 2 || e.Counts.D != 50 {
		t.Errorf("%+v", e)
	}
	r.arrive(4)
	r.once(f)
	r.arriveAs(3, 5)
	r.answer = nil
	r.held(f, 3)
}

// TestFinishedOperator is not one without rows: F24.
func TestFinishedOperator(t *testing.T) {
	for _, answer := range []string{registry.Accept, registry.Keep} {
		t.Run(answer, func(t *testing.T) {
			r, m := newRig(t, fixture.Ended, ended), &mirror{}
			r.arrive(1)
			m.follow(r, r.once(r.feed()))
			r.arrive(4)
			if q := r.held(r.feed(), 1); q.Kind != registry.SubtaskFinished || q.Deletes != 40 {
				t.Errorf("%+v", q)
			}
			r.say(answer)
			m.follow(r, r.once(r.feed()))
			if want := map[string]int{registry.Accept: 0, registry.Keep: 40}[answer]; len(m.rows) != want {
				t.Errorf("%d rows, want %d", len(m.rows), want)
			}
			for n := 5; n < 7; n++ { // nobody is asked again
				r.arriveAs(4, n)
				e := r.once(r.feed())
				if again := r.once(r.feed()); again.Number != e.Number {
					t.Errorf("nothing new, and yet epoch %d after %d", again.Number, e.Number)
				}
			}
			r.arriveAs(1, 9) // restored
			m.follow(r, r.once(r.feed()))
			r.same(m, 1)
		})
	}
}

// TestMissingState of a consumer that has rows.
func TestMissingState(t *testing.T) {
	r, m := newRig(t, fixture.Heap, feed.Consumer{Name: "late", Operator: "users-op", State: "late"}), &mirror{}
	r.arrive(3)
	m.follow(r, r.once(r.feed()))
	r.arriveAs(2, 8)
	if q := r.held(r.feed(), 1); q.Kind != registry.StateMissing || q.Deletes != 16 {
		t.Errorf("%+v", q)
	}
	r.say(registry.Accept)
	e := r.once(r.feed())
	m.follow(r, e)
	if len(m.rows) != 0 || *e.Rows != 0 {
		t.Errorf("%d rows", len(m.rows))
	}
	r.arriveAs(4, 9)
	m.follow(r, r.once(r.feed()))
	r.same(m, 4)
}

// TestFullEpochIsGuarded: it takes away what it does not hold.
func TestFullEpochIsGuarded(t *testing.T) {
	r := newRig(t, fixture.Ended, live)
	r.arrive(1)
	r.once(r.feed())
	if err := os.RemoveAll(filepath.Join(r.data, "pins")); err != nil {
		t.Fatal(err)
	}
	r.arrive(3)
	if q := r.held(r.feed(), 1); q.Deletes != 50 || q.Rows != 60 {
		t.Errorf("%+v", q)
	}
	r.arrive(4)
	if e := r.once(r.feed()); !e.Full || *e.Rows != 60 {
		t.Errorf("%+v", e)
	}
}

// TestResyncOfAHeldConsumer gives the sink what was published last.
func TestResyncOfAHeldConsumer(t *testing.T) {
	r, m := newRig(t, fixture.Ended, live), &mirror{}
	r.arrive(1)
	r.once(r.feed())
	r.arrive(3)
	r.held(r.feed(), 1)
	if err := r.registry.RequestResync(t.Context(), registry.Resync{Consumer: "live", Sink: "pg", Reason: "the table is empty"}); err != nil {
		t.Fatal(err)
	}
	r.held(r.feed(), 2)
	head, _, err := r.source.Head(t.Context(), "live")
	if err != nil || !head.Full || head.Snapshot.CheckpointID != 1 {
		t.Fatalf("%+v, %v", head, err)
	}
	m.follow(r, head)
	r.same(m, 1)
	r.say(registry.Accept)
	m.follow(r, r.once(r.feed()))
	r.same(m, 3)
}

// TestGuard: what is allowed depends on the share and on a number that always is.
func TestGuard(t *testing.T) {
	for name, c := range map[string]struct {
		guard feed.Guard
		held  bool
	}{
		"50 of 60 with 84 %": {feed.Guard{Percent: 84}, false},
		"50 of 60 with 83 %": {feed.Guard{Percent: 83}, true},
		"never":              {feed.Guard{Percent: 100}, false},
		"50 rows may go":     {feed.Guard{Percent: 1, Rows: 50}, false},
		"49 rows may go":     {feed.Guard{Percent: 1, Rows: 49}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fixture.Ended, live)
			r.guard = c.guard
			r.arrive(1)
			r.once(r.feed())
			r.arrive(3)
			_, err := r.feed().Once(t.Context(), 0)
			if held := new(feed.HeldError); errors.As(err, &held) != c.held || !c.held && err != nil {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestRunWaitsForAnAnswer and goes on as soon as it is there.
func TestRunWaitsForAnAnswer(t *testing.T) {
	r, m := newRig(t, fixture.Ended, live), &mirror{}
	ctx, cancel := context.WithCancel(t.Context())
	f, done := r.feed(), make(chan error)
	go func() { done <- f.Run(ctx) }()
	r.arrive(1)
	r.await(1)
	r.arrive(3)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, ok, err := r.registry.Question(t.Context(), "live"); err != nil || time.Now().After(deadline) {
			t.Fatal("nothing is asked", err)
		} else if ok {
			break
		}
	}
	r.say(registry.Accept)
	m.follow(r, r.await(3))
	r.same(m, 3)
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
