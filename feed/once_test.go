package feed_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/feed"
	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/state"
)

// TestOnceWaitsForNoSink: whoever called it may be the one who has yet to start the sink. Once the registry knows where the sink stands, there is more to publish.
func TestOnceWaitsForNoSink(t *testing.T) {
	c := customers
	c.Sinks = []string{"fast", "slow"}
	r := newRig(t, fixture.RocksDB, c)
	f, behind := r.feed(), new(feed.BehindError)
	for n := 1; n <= 12; n++ {
		r.arriveAs(1+n%4, n)
		_, err := f.Once(t.Context(), 0)
		if errors.As(err, &behind) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tell(t, r, "fast", uint64(n))
	}
	if behind.Sink != "slow" || behind.Newest != 9 || behind.Applied != 0 {
		t.Fatalf("%+v", behind)
	}
	epochs, err := r.feed().Once(t.Context(), 0)
	if !errors.As(err, &behind) || len(epochs) != 1 || epochs[0].Number != 9 {
		t.Fatalf("%+v, %v", epochs, err)
	}
	tell(t, r, "slow", 9)
	if e := r.once(r.feed()); e.Number < 10 {
		t.Errorf("epoch %d", e.Number)
	}
}

// TestConfigPutRightIsNotHeldBack: a sink that stands for long at an epoch which it refuses waits for the epoch that a better config gives.
func TestConfigPutRightIsNotHeldBack(t *testing.T) {
	c := customers
	c.Sinks = []string{"strict"}
	r := newRig(t, fixture.RocksDB, c)
	f, behind := r.feed(), new(feed.BehindError)
	n := 1
	for ; n <= 12 && behind.Sink == ""; n++ {
		r.arriveAs(1+n%4, n)
		if _, err := f.Once(t.Context(), 0); err != nil && !errors.As(err, &behind) {
			t.Fatal(err)
		}
	}
	r.consumer.Columns = []state.Mapping{{Name: "id", Path: "key"}, {Name: "name", Path: "value.name"}}
	f = r.feed()
	if e := r.once(f); !e.Full || e.Number != behind.Newest+1 || e.Number == 1 {
		t.Errorf("epoch %d behind %+v, full: %t", e.Number, behind, e.Full)
	}
	r.arriveAs(1+n%4, n)
	if _, err := f.Once(t.Context(), 0); !errors.As(err, &behind) {
		t.Errorf("%v: the sink is held back for no more", err)
	}
}

func tell(t *testing.T, r *rig, sink string, epoch uint64) {
	t.Helper()
	head, _, err := r.source.Head(t.Context(), r.consumer.Name)
	if err == nil {
		err = r.registry.SetPosition(t.Context(), registry.Position{Consumer: r.consumer.Name, Sink: sink, Chain: head.Chain, Epoch: epoch})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOnceWaitsForAPublisherWithPatience, and no longer.
func TestOnceWaitsForAPublisherWithPatience(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	r.arrive(1)
	claim := registry.Claim{Task: registry.Task{Consumer: customers.Name}, Holder: "another", TTL: time.Second}
	err := r.registry.Alone(t.Context(), claim, func(ctx context.Context) error {
		_, err := r.feed().Once(ctx, 100*time.Millisecond)
		return err
	})
	if !errors.Is(err, registry.ErrHeld) || !strings.Contains(err.Error(), "another process has the lease: another, still after ") {
		t.Errorf("err = %v", err)
	}
}

// TestOnceTellsWhatIsWrongWithTheNewest, whatever was published before it. Only a metadata file that may still be written is no fault.
func TestOnceTellsWhatIsWrongWithTheNewest(t *testing.T) {
	metadata := func(name string) bool { return name == "_metadata" }
	data := func(name string) bool { return name != "_metadata" }
	cut := func(t *testing.T, r *rig, which func(string) bool, age time.Duration) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(r.job, "chk-2"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(r.job, "chk-2", e.Name())
			info, err := e.Info()
			if err == nil && which(e.Name()) {
				err = errors.Join(os.Truncate(name, info.Size()/2), os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, *rig)
		want  string
	}{
		"the metadata is being written": {func(t *testing.T, r *rig) { cut(t, r, metadata, 0) }, ""},
		"the metadata is cut":           {func(t *testing.T, r *rig) { cut(t, r, metadata, time.Hour) }, "_metadata: "},
		"a file is cut":                 {func(t *testing.T, r *rig) { cut(t, r, data, 0) }, "chk-2/"},
		"one before it is cut": {func(t *testing.T, r *rig) {
			cut(t, r, metadata, time.Hour)
			r.arriveAs(1, 3)
			if err := os.Truncate(filepath.Join(r.job, "chk-3", "_metadata"), 99); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"all are gone": {func(t *testing.T, r *rig) { r.leave(1); r.leave(2) }, "no complete snapshot"},
		"the job is gone": {func(t *testing.T, r *rig) {
			if err := os.RemoveAll(r.job); err != nil {
				t.Fatal(err)
			}
		}, "no complete snapshot"},
		"its metadata is not there yet": {func(t *testing.T, r *rig) {
			if err := os.Remove(filepath.Join(r.job, "chk-2", "_metadata")); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fixture.Heap, feed.Consumer{Name: "seen", Operator: "users-op", State: "seen"})
			r.arrive(1)
			r.once(r.feed())
			r.arrive(2)
			c.spoil(t, r)
			epochs, err := r.feed().Once(t.Context(), 0)
			if len(epochs) != 1 || epochs[0].Number != 1 {
				t.Errorf("%+v", epochs)
			}
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("err = %v", err)
			case c.want == "no complete snapshot" && (!errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "seen")):
				t.Errorf("err = %v", err)
			}
		})
	}
}
