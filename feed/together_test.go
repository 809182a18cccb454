package feed_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

var totals = feed.Consumer{Name: "totals", Operator: "customers-op", State: "total"}

// of looks at another consumer of the rig.
func (r *rig) of(c feed.Consumer) *rig {
	q := *r
	q.consumer = c
	return &q
}

// step publishes what there is and checks that all consumers have taken the same step to checkpoint n.
func (r *rig) step(f *feed.Feed, n int) map[string]stream.Epoch {
	r.t.Helper()
	epochs, err := f.Once(r.t.Context(), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]stream.Epoch{}
	for _, e := range epochs {
		out[e.Consumer] = e
		if !e.SameStep(epochs[0]) || e.Step == 0 || e.Snapshot.CheckpointID != int64(n) {
			r.t.Errorf("consumer %s stands at step %d, checkpoint %d; want checkpoint %d and the step of %+v", e.Consumer, e.Step, e.Snapshot.CheckpointID, n, epochs[0])
		}
	}
	if len(out) != 1+len(r.others) {
		r.t.Fatalf("epochs of %d consumers", len(out))
	}
	return out
}

// TestConsumersStepTogether, whatever has happened to one of them.
func TestConsumersStepTogether(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	r.others = []feed.Consumer{totals}
	mirrors := map[string]*mirror{"customers": {}, "totals": {}}
	same := func(n int, epochs map[string]stream.Epoch) {
		t.Helper()
		for _, c := range []feed.Consumer{customers, totals} {
			mirrors[c.Name].follow(r.of(c), epochs[c.Name])
			r.of(c).same(mirrors[c.Name], n)
		}
	}
	r.arrive(1)
	first := r.step(r.feed(), 1)
	same(1, first)
	if again := r.step(r.feed(), 1); again["totals"].Number != 1 {
		t.Errorf("nothing new, and yet epoch %d", again["totals"].Number)
	}
	r.arrive(2)
	second := r.step(r.feed(), 2)
	same(2, second)
	if e := second["totals"]; e.Full || e.Step <= first["totals"].Step {
		t.Errorf("%+v", e)
	}
	if err := r.registry.RequestResync(t.Context(), registry.Resync{Consumer: "totals", Sink: "pg"}); err != nil {
		t.Fatal(err)
	}
	healed := r.step(r.feed(), 2) // no other snapshot: that one once more, for both
	same(2, healed)
	if e := healed["totals"]; !e.Full || !e.Resync {
		t.Errorf("the full epoch that was asked for: %+v", e)
	}
	if e := healed["customers"]; e.Full || e.Counts.Total() != 0 || e.Number != 3 || e.Rows == nil || *e.Rows != *second["customers"].Rows {
		t.Errorf("beside it: %+v", e)
	}
	if _, asked, err := r.registry.Resync(t.Context(), "totals"); asked || err != nil {
		t.Errorf("still asked: %v", err)
	}
	r.arrive(4)
	same(4, r.step(r.feed(), 4))
}

// TestConsumerThatJoinsLater begins with the newest snapshot, and the others step there with it.
func TestConsumerThatJoinsLater(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	r.arrive(1)
	r.once(r.feed())
	r.others = []feed.Consumer{totals}
	epochs := r.step(r.feed(), 1)
	if a, b := epochs["customers"], epochs["totals"]; a.Full || a.Number != 2 || a.Counts.Total() != 0 || !b.Full || b.Number != 1 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestHalfPublishedStep: a publisher died after it had published one of two consumers. The other is led there, or both to what is newer.
func TestHalfPublishedStep(t *testing.T) {
	ahead := func(t *testing.T) *rig {
		r := newRig(t, fixture.RocksDB, customers)
		r.others = []feed.Consumer{totals}
		r.arrive(1)
		r.step(r.feed(), 1)
		r.arrive(2)
		alone := *r
		alone.others = nil
		alone.once(alone.feed())
		return r
	}
	t.Run("to the same", func(t *testing.T) {
		r, m := ahead(t), &mirror{}
		epochs := r.step(r.feed(), 2)
		if a, b := epochs["customers"], epochs["totals"]; a.Number != 3 || a.Counts.Total() != 0 || b.Number != 2 || b.Full || b.Counts.Total() == 0 {
			t.Errorf("%+v\n%+v", a, b)
		}
		m.follow(r.of(totals), epochs["totals"])
		r.of(totals).same(m, 2)
	})
	t.Run("by its pin", func(t *testing.T) {
		r := ahead(t)
		pins, err := checkpoint.OpenPins(filepath.Join(r.data, "pins"), storage.Local())
		if err != nil {
			t.Fatal(err)
		}
		found, err := checkpoint.Discover(t.Context(), storage.Local(), filepath.Dir(r.job), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pins.Take(t.Context(), "totals", found[len(found)-1], []string{totals.Operator}, checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(r.job, "shared")); err != nil { // what is left of it is its metadata file
			t.Fatal(err)
		}
		if e := r.step(r.feed(), 2)["totals"]; e.Full || e.Number != 2 {
			t.Errorf("%+v", e)
		}
	})
	t.Run("which is gone", func(t *testing.T) {
		r, m := ahead(t), &mirror{}
		if err := os.RemoveAll(r.job); err != nil {
			t.Fatal(err)
		}
		if epochs, err := r.feed().Once(t.Context(), 0); !errors.Is(err, fs.ErrNotExist) || len(epochs) > 0 {
			t.Errorf("%+v, %v", epochs, err)
		}
		r.arrive(4)
		epochs := r.step(r.feed(), 4)
		if a, b := epochs["customers"], epochs["totals"]; a.Full || a.Base.CheckpointID != 2 || b.Full || b.Base.CheckpointID != 1 || a.Number != 3 || b.Number != 2 {
			t.Errorf("%+v\n%+v", a, b)
		}
		m.follow(r.of(totals), epochs["totals"])
		r.of(totals).same(m, 4)
	})
}

// TestOneUnreadableStateStopsAll: nothing of the snapshot is published.
func TestOneUnreadableStateStopsAll(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	bad := totals
	bad.State = "no such state"
	r.others = []feed.Consumer{bad}
	r.arrive(1)
	_, err := r.feed().Once(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "consumer totals: ") || !strings.Contains(err.Error(), "no such state") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"customers", "totals"} {
		if head, ok, err := r.source.Head(t.Context(), name); ok || err != nil {
			t.Errorf("%+v, %v", head, err)
		}
	}
}

// TestHeldTogether: a question about one consumer holds the others, and its answer lets all go.
func TestHeldTogether(t *testing.T) {
	r := newRig(t, fixture.Ended, live)
	r.others = []feed.Consumer{ended}
	r.arrive(1)
	r.step(r.feed(), 1)
	r.arrive(3)
	r.held(r.feed(), 1) // live lacks most of its rows
	if head, _, err := r.source.Head(t.Context(), "ended"); err != nil || head.Number != 1 {
		t.Errorf("the other one was published: %+v, %v", head, err)
	}
	r.of(ended).free()
	if err := r.registry.RequestResync(t.Context(), registry.Resync{Consumer: "ended", Sink: "pg"}); err != nil {
		t.Fatal(err)
	}
	r.held(r.feed(), 2) // a sink is served with the old snapshot meanwhile, by a step of both
	if head, _, err := r.source.Head(t.Context(), "ended"); err != nil || head.Number != 2 || !head.Full || head.Snapshot.CheckpointID != 1 {
		t.Errorf("%+v, %v", head, err)
	}
	r.arriveAs(4, 9) // live has its rows back, and now the other operator has finished
	_, err := r.feed().Once(t.Context(), 0)
	held := new(feed.HeldError)
	if !errors.As(err, &held) || held.Consumer != "ended" || held.Kind != registry.SubtaskFinished {
		t.Fatalf("%v", err)
	}
	r.free() // as far as live is concerned
	r.of(ended).say(registry.Accept)
	epochs := r.step(r.feed(), 9)
	m := &mirror{}
	m.follow(r, epochs["live"])
	r.same(m, 4)
	if e := epochs["ended"]; e.Rows == nil || *e.Rows != 0 {
		t.Errorf("%+v", e)
	}
	r.of(ended).free()
}
