package sinktest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/stream"
)

// family is two tables that one worker leads, on a real bus. Their only row says which checkpoint it is of.
type family struct {
	*testing.T
	Target
	source     *stream.Source
	registry   *registry.Registry
	sink       sinks.Sink
	tables     []sinks.Table
	publishers []*stream.Publisher
	last       []stream.Epoch // of each table
}

// testHealed: tables that change together come to the same step again, whichever of them lost what, and whatever was published last.
func testHealed(t *testing.T, target Target) {
	if target.Prefix != nil {
		return
	}
	bus := StartBus(t)
	for newest, publish := range map[string]func(*family){
		"full":  func(f *family) { f.publish(1, true, true) },
		"diff":  func(f *family) { f.publish(1, true, true); f.reach(f.tables); f.publish(2, false, false) },
		"mixed": func(f *family) { f.publish(1, true, true); f.reach(f.tables); f.publish(2, false, true) },
	} {
		for name, lose := range target.Lose {
			for _, who := range [][]int{{0}, {1}, {0, 1}} {
				t.Run(fmt.Sprintf("%s/%s_%d", newest, name, who), func(t *testing.T) {
					f := newFamily(t, target, bus)
					publish(f)
					f.reach(f.tables)
					revision := f.at(0).Revision
					for _, i := range who {
						lose(t, f.tables[i])
					}
					f.reach(f.tables)
					again := newest == "full" || newest == "mixed" && slices.Equal(who, []int{1}) // what is in the stream will do
					if asked := f.last[0].Step > uint64(f.last[0].Snapshot.CheckpointID); asked == again {
						t.Errorf("full epochs were asked for: %t", asked)
					}
					if again && !slices.Contains(who, 0) && f.at(0).Revision != revision {
						t.Error("a table that has lost nothing was written to")
					}
				})
			}
		}
		t.Run(newest+"/left_behind", func(t *testing.T) {
			f := newFamily(t, target, bus)
			publish(f)
			f.reach(f.tables)
			f.publish(3, newest == "full", newest == "full")
			f.reach(f.tables[:1])
			f.reach(f.tables)
		})
	}
}

func newFamily(t *testing.T, target Target, bus *stream.Bus) *family {
	f := &family{T: t, Target: target, last: make([]stream.Epoch, 2)}
	f.source, f.registry = OpenSource(t, bus, t.Name())
	plain := strings.NewReplacer("/", "_", "[", "", "]", "").Replace(strings.ToLower(t.Name()[strings.Index(t.Name(), "/healed/")+1:]))
	for _, suffix := range []string{"_a", "_b"} {
		name := plain + suffix // others for each test, since a table has one owner
		f.tables = append(f.tables, sinks.Table{Source: t.Name(), Consumer: name, Columns: account})
		p, err := f.source.Publisher(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		f.publishers = append(f.publishers, p)
	}
	f.sink = target.Open(t)
	t.Cleanup(func() { f.sink.Close() })
	return f
}

func (f *family) at(table int) sinks.Position {
	f.Helper()
	at, err := f.sink.Position(f.Context(), f.tables[table])
	if err != nil {
		f.Fatal(err)
	}
	return at
}

// publish takes a step as a feed does, to a checkpoint.
func (f *family) publish(checkpoint int64, full ...bool) {
	f.Helper()
	for i, p := range f.publishers {
		base := f.last[i].Snapshot
		e := stream.Epoch{Full: full[i], Step: f.last[i].Step + 1, Base: &base, Snapshot: stream.SnapshotRef{CheckpointID: checkpoint}, Columns: account, Partitions: 1}
		if full[i] {
			e.Base, e.Resync = nil, f.last[i].Number > 0
		}
		w, err := p.Begin(f.Context(), e)
		if err != nil {
			f.Fatal(err)
		}
		defer w.Abort()
		op := map[bool]byte{true: 'r', false: 'u'}[full[i]]
		if err := w.Append(f.Context(), put(op, `{"id":"x"}`, fmt.Sprintf(`{"id":"x","balance":%d}`, checkpoint))); err != nil {
			f.Fatal(err)
		}
		if f.last[i], err = w.Commit(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
}

// answer publishes the full epochs that are asked for, as a feed does.
func (f *family) answer() {
	full, asked := make([]bool, len(f.tables)), false
	for i, t := range f.tables {
		q, ok, err := f.registry.Resync(f.Context(), t.Consumer)
		if err != nil {
			f.Fatal(err)
		}
		if full[i] = ok; ok {
			asked = true
			if err := f.registry.ClearResync(f.Context(), q); err != nil {
				f.Fatal(err)
			}
		}
	}
	if asked {
		f.publish(f.last[0].Snapshot.CheckpointID, full...)
	}
}

// reach runs a new worker, with a publisher at its side, until the tables show the newest step.
func (f *family) reach(tables []sinks.Table) {
	f.Helper()
	w := sinks.NewWorker("family", f.sink, tables, f.source, f.registry, slog.New(slog.DiscardHandler), sinks.Options{
		Recheck: time.Minute, Answer: time.Minute, MinWait: 10 * time.Millisecond, MaxWait: 50 * time.Millisecond,
	})
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.Run(ctx) })
	for deadline := time.Now().Add(10 * time.Second); !f.there(w, tables); f.answer() {
		if ctx.Err() != nil || time.Now().After(deadline) {
			f.Fatalf("not healed: %v, %v at %+v and %+v", context.Cause(ctx), w.Failing(), f.at(0), f.at(1))
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		f.Fatal(err)
	}
	for _, t := range tables {
		want := []map[string]string{{"id": "x", "balance": fmt.Sprint(f.last[0].Snapshot.CheckpointID)}}
		if got := f.Read(f, t); !slices.EqualFunc(got, want, maps.Equal) {
			f.Errorf("%s has %v, want %v", t.Consumer, got, want)
		}
	}
}

func (f *family) there(w *sinks.Worker, tables []sinks.Table) bool {
	wait, cancel := context.WithTimeout(f.Context(), 20*time.Millisecond)
	defer cancel()
	return w.Wait(wait, f.last[:len(tables)]...) == nil
}
