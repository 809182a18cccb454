package sinks_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/stream"
)

// joined is a Worker of the tables a and b, on a real bus and a SQLite file. Row 1 of each says which step it is of, and a reader compares them all the time.
type joined struct {
	*testing.T
	source     *stream.Source
	registry   *registry.Registry
	letters    *registry.Letters
	sink       *sqlite.Sink
	db         *sql.DB
	publishers map[string]*stream.Publisher
	ended      context.Context // once somebody has failed
}

func newJoined(t *testing.T) *joined {
	j := &joined{T: t, ended: t.Context(), publishers: map[string]*stream.Publisher{}}
	j.source, j.registry = sinktest.OpenSource(t, sinktest.StartBus(t), "bank")
	var err error
	if j.letters, err = registry.OpenLetters(t.Context(), j.source); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if j.publishers[name], err = j.source.Publisher(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "tables.db")
	if j.sink, err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.sink.Close() })
	if j.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.db.Close() })
	return j
}

func (j *joined) worker(letters sinks.Letters) *sinks.Worker {
	tables := []sinks.Table{{Source: "bank", Consumer: "b"}, {Source: "bank", Consumer: "a"}}
	return sinks.NewWorker("file", j.sink, tables, j.source, j.registry, slog.New(slog.DiscardHandler), sinks.Options{
		Recheck: 50 * time.Millisecond, Answer: 20 * time.Second, MinWait: 10 * time.Millisecond, MaxWait: 50 * time.Millisecond, Letters: letters,
	})
}

// publish makes the epoch of one table: row 1 gets the number of the step.
func (j *joined) publish(table string, step uint64, full bool, more ...stream.Change) stream.Epoch {
	j.Helper()
	op := byte('u')
	if full {
		op = 'r'
	}
	columns := []stream.Column{{Name: "id", Type: "int64", Key: true}, {Name: "text", Type: "string"}}
	w, err := j.publishers[table].Begin(j.Context(), stream.Epoch{
		Full: full, Resync: full && step > 1, Step: step, Snapshot: stream.SnapshotRef{CheckpointID: int64(step)}, Columns: columns, Partitions: 1,
	})
	if err != nil {
		j.Fatal(err)
	}
	defer w.Abort()
	for _, c := range append([]stream.Change{note(op, 1, fmt.Sprint(step))}, more...) {
		if err := w.Append(j.Context(), c); err != nil {
			j.Fatal(err)
		}
	}
	e, err := w.Commit(j.Context())
	if err != nil {
		j.Fatal(err)
	}
	return e
}

// state reads both tables in one statement.
func (j *joined) state(ctx context.Context) (string, error) {
	var a, b sql.NullString
	err := j.db.QueryRowContext(ctx, "SELECT (SELECT text FROM a WHERE id = 1), (SELECT text FROM b WHERE id = 1)").Scan(&a, &b)
	if err != nil && strings.Contains(err.Error(), "no such table") {
		return "/", nil
	}
	return a.String + "/" + b.String, err
}

func (j *joined) stands(want string) {
	j.Helper()
	if got, err := j.state(j.Context()); err != nil || got != want {
		j.Fatalf("the tables stand at %q, %v; want %q", got, err, want)
	}
}

func (j *joined) wait(w *sinks.Worker, epochs ...stream.Epoch) {
	j.Helper()
	ctx, cancel := context.WithTimeout(j.Context(), 20*time.Second)
	defer cancel()
	if err := w.Wait(ctx, epochs...); err != nil {
		j.Fatalf("%v (%v, %v)", err, w.Failing(), context.Cause(j.ended))
	}
}

// TestTablesChangeTogether through steps that are whole and half, and when one table has lost its rows.
func TestTablesChangeTogether(t *testing.T) {
	j := newJoined(t)
	w := j.worker(nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	j.ended = ctx
	g.Go(func() error { return w.Run(ctx) })
	var emptied atomic.Int64 // odd while b is
	reads := 0
	g.Go(func() error {
		for ; ctx.Err() == nil; reads++ {
			before := emptied.Load()
			got, err := j.state(ctx)
			a, b, _ := strings.Cut(got, "/")
			if err == nil && a != b && before%2 == 0 && emptied.Load() == before {
				return fmt.Errorf("a reader sees step %q of one table and %q of the other", a, b)
			}
		}
		return nil
	})

	a := j.publish("a", 1, true)
	time.Sleep(200 * time.Millisecond) // its tables wait for each other
	j.stands("/")
	j.wait(w, a, j.publish("b", 1, true))
	j.stands("1/1")
	j.wait(w, j.publish("a", 2, false), j.publish("b", 2, false))

	j.publish("a", 3, false) // and its publisher is killed
	time.Sleep(200 * time.Millisecond)
	j.stands("2/2")
	j.publish("b", 4, false) // nor is this one finished
	time.Sleep(200 * time.Millisecond)
	j.stands("2/2")
	j.wait(w, j.publish("b", 5, false), j.publish("a", 5, false))
	j.stands("5/5")

	emptied.Add(1)
	if _, err := j.db.Exec("DELETE FROM b"); err != nil {
		t.Fatal(err)
	}
	asked, err := j.registry.WatchResync(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if q := <-asked; q.Reason != sinks.TableEmpty {
		t.Errorf("%+v", q)
	}
	j.publish("a", 6, false)
	j.wait(w, j.publish("b", 6, true))
	j.stands("6/6")
	emptied.Add(1)
	j.wait(w, j.publish("b", 7, false), j.publish("a", 7, false))
	j.stands("7/7")
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reads", reads)
}

// TestOneTableRefusesForAll: neither table moves while one can't, and a newer full epoch of that one lets both go on, to the same step.
func TestOneTableRefusesForAll(t *testing.T) {
	j := newJoined(t)
	a, b := j.publish("a", 1, true), j.publish("b", 1, true, note('r', 1, "again"))
	w := j.worker(nil)
	err := w.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), `consumer "b": epoch 1: `) {
		t.Fatalf("%v", err)
	}
	if err := w.Wait(t.Context(), a, b); err == nil {
		t.Error("a worker that has stopped is waited for")
	}
	j.stands("/")
	j.publish("a", 2, true) // it has asked for one, since it stands nowhere
	j.publish("b", 2, true)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if got, err := j.state(t.Context()); err == nil && got == "2/2" {
			break
		}
	}
	j.stands("2/2")
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// TestDeadLettersOfOneTable: the epochs of both go on without the row, and the letters are right after several epochs in one transaction.
func TestDeadLettersOfOneTable(t *testing.T) {
	j := newJoined(t)
	const bad = `\ud800`
	w := j.worker(j.letters)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	j.wait(w, j.publish("a", 1, true), j.publish("b", 1, true, note('r', 2, bad), note('r', 3, "c"), note('r', 4, "d")))
	j.publish("b", 2, false, note('u', 2, "b"), note('u', 3, bad), note('u', 4, bad), note('c', 5, bad)) // half a step
	j.wait(w, j.publish("a", 3, false), j.publish("b", 3, false, note('u', 5, "e")))
	j.stands("3/3")
	var texts string
	if err := j.db.QueryRow("SELECT group_concat(id || text, ' ' ORDER BY id) FROM b").Scan(&texts); err != nil || texts != "13 2b 5e" {
		t.Errorf("rows %q, %v", texts, err)
	}
	all, err := j.letters.List(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("letters %+v, %v", all, err)
	}
	for _, l := range all {
		if string(l.Key) != `{"id":3}` && string(l.Key) != `{"id":4}` {
			t.Errorf("%+v", l)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// TestUnjoinedSink can't change two tables at once.
func TestUnjoinedSink(t *testing.T) {
	source, sink := newSource(), newSink()
	source.publish(stream.Epoch{Full: true})
	w := sinks.NewWorker("pg", sink, []sinks.Table{{Source: "bank", Consumer: "a"}, {Source: "bank", Consumer: "b"}}, source, &fakeRegistry{}, slog.New(slog.DiscardHandler), sinks.Options{})
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "several tables at once") || sink.at.Epoch != 0 {
		t.Errorf("%v, position %+v", err, sink.at)
	}
}
