package sinks_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/stream"
)

var (
	_ sinks.Source   = (*stream.Source)(nil)
	_ sinks.Registry = (*registry.Registry)(nil)
)

// TestFromStreamToTable runs Workers of two SQLite files on a real bus. One file is emptied: it asks for a full epoch and gets one, which the
// other passes over.
func TestFromStreamToTable(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	source, reg := sinktest.OpenSource(t, sinktest.StartBus(t), "bank")
	publisher, err := source.Publisher(t.Context(), "accounts")
	if err != nil {
		t.Fatal(err)
	}
	columns := []stream.Column{{Name: "id", Type: "int64", Key: true}, {Name: "balance", Type: "int64"}}
	publish := func(checkpoint int64, full, resync bool, changes ...stream.Change) stream.Epoch {
		t.Helper()
		w, err := publisher.Begin(t.Context(), stream.Epoch{Full: full, Resync: resync, Snapshot: stream.SnapshotRef{CheckpointID: checkpoint}, Columns: columns, Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if err := w.Append(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		e, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	row := func(op byte, id, balance int) stream.Change {
		key := fmt.Appendf(nil, `{"id":%d}`, id)
		if op == 'd' {
			return stream.Change{Op: op, Key: key, Before: fmt.Appendf(nil, `{"id":%d,"balance":%d}`, id, balance), Partition: id % 2}
		}
		return stream.Change{Op: op, Key: key, After: fmt.Appendf(nil, `{"id":%d,"balance":%d}`, id, balance), Partition: id % 2}
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	var workers []*sinks.Worker
	var files []*sql.DB
	commits := make(chan string, 10)
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(t.TempDir(), name)
		sink, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		w := sinks.NewWorker(name, sink, []sinks.Table{{Source: "bank", Consumer: "accounts"}}, source, reg, log, sinks.Options{
			Recheck: 100 * time.Millisecond, MinWait: 10 * time.Millisecond, MaxWait: 50 * time.Millisecond,
			Commits: func(c sinks.Committed) {
				text := fmt.Sprint(c.Sink, " ", c.Epoch.Number)
				if c.FastForward {
					text += " forward"
				}
				commits <- text
			},
		})
		workers, files = append(workers, w), append(files, db)
		g.Go(func() error { return w.Run(ctx) })
	}
	check := func(e stream.Epoch, rows, sum int) {
		t.Helper()
		wait, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for i, w := range workers {
			if err := w.Wait(wait, e); err != nil {
				last := w.Failing()
				t.Fatalf("worker %d: %v (%v)", i, err, last)
			}
			var r, s int
			if err := files[i].QueryRow("SELECT count(*), total(balance) FROM accounts").Scan(&r, &s); err != nil || r != rows || s != sum {
				t.Fatalf("worker %d, epoch %d: %d rows, sum %d, %v; want %d and %d", i, e.Number, r, s, err, rows, sum)
			}
		}
	}
	check(publish(1, true, false, row('r', 1, 10), row('r', 2, 20)), 2, 30)
	check(publish(2, false, false, row('u', 1, 15), row('c', 3, 5), row('d', 2, 20)), 2, 20)

	if _, err := files[0].Exec("DELETE FROM accounts"); err != nil {
		t.Fatal(err)
	}
	resyncs, err := reg.WatchResync(ctx, "accounts")
	if err != nil {
		t.Fatal(err)
	}
	q := <-resyncs
	if q.Sink != "one" || q.Reason != sinks.TableEmpty {
		t.Errorf("asked for %+v", q)
	}
	publish(2, true, true, row('r', 1, 15), row('r', 3, 5))
	if err := reg.ClearResync(ctx, q); err != nil {
		t.Fatal(err)
	}
	check(publish(3, false, false, row('c', 4, 1)), 3, 21)
	var got []string
	for range 8 {
		got = append(got, <-commits)
	}
	slices.Sort(got)
	want := []string{"one 1", "one 2", "one 3", "one 4", "two 1", "two 2", "two 3 forward", "two 4"} // and never one back, or twice
	if !slices.Equal(got, want) {
		t.Errorf("committed %q, want %q", got, want)
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
