package sinks_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/stream"
)

var _ sinks.Letters = (*registry.Letters)(nil)

// lettered is a Worker that makes dead letters, on a real bus and a SQLite file.
type lettered struct {
	*testing.T
	letters   *registry.Letters
	publisher *stream.Publisher
	worker    *sinks.Worker
	db        *sql.DB
	number    int64
	commits   chan sinks.Committed
}

func newLettered(t *testing.T) *lettered {
	log := slog.New(slog.DiscardHandler)
	source, reg := sinktest.OpenSource(t, sinktest.StartBus(t), "bank")
	l := &lettered{T: t, commits: make(chan sinks.Committed, 10)}
	var err error
	if l.letters, err = registry.OpenLetters(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if l.publisher, err = source.Publisher(t.Context(), "notes"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "notes.db")
	sink, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	if l.db, err = sql.Open("sqlite", path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.db.Close() })
	l.worker = sinks.NewWorker("file", sink, []sinks.Table{{Source: "bank", Consumer: "notes"}}, source, reg, log, sinks.Options{
		Recheck: 50 * time.Millisecond, MinWait: 10 * time.Millisecond, MaxWait: 50 * time.Millisecond,
		Letters: l.letters, Commits: func(c sinks.Committed) { l.commits <- c },
	})
	return l
}

// take publishes an epoch of texts by id, waits for its commit and compares what the table has and which rows are dead.
func (l *lettered) take(full bool, changes []stream.Change, rows, dead string) {
	l.Helper()
	l.number++
	columns := []stream.Column{{Name: "id", Type: "int64", Key: true}, {Name: "text", Type: "string"}}
	w, err := l.publisher.Begin(l.Context(), stream.Epoch{Full: full, Snapshot: stream.SnapshotRef{CheckpointID: l.number}, Columns: columns, Partitions: 1})
	if err != nil {
		l.Fatal(err)
	}
	for _, c := range changes {
		if err := w.Append(l.Context(), c); err != nil {
			l.Fatal(err)
		}
	}
	if _, err := w.Commit(l.Context()); err != nil {
		l.Fatal(err)
	}
	select {
	case <-l.commits:
	case <-time.After(20 * time.Second):
		err := l.worker.Failing()
		l.Fatalf("no commit: %v", err)
	}
	var got string
	if err := l.db.QueryRow("SELECT ifnull(group_concat(id || text, ' ' ORDER BY id), '') FROM notes").Scan(&got); err != nil || got != rows {
		l.Errorf("epoch %d: rows %q, %v; want %q", l.number, got, err, rows)
	}
	if got := l.dead(); got != dead {
		l.Errorf("epoch %d: letters %q, want %q", l.number, got, dead)
	}
}

func (l *lettered) dead() string {
	l.Helper()
	all, err := l.letters.List(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	var keys []string
	for _, letter := range all {
		keys = append(keys, fmt.Sprintf("%s@%d", letter.Key, letter.Epoch))
	}
	slices.Sort(keys)
	return fmt.Sprint(keys)
}

func note(op byte, id int, text string) stream.Change {
	c := stream.Change{Op: op, Key: fmt.Appendf(nil, `{"id":%d}`, id), After: fmt.Appendf(nil, `{"id":%d,"text":"%s"}`, id, text)}
	if op == 'd' {
		c.After = nil
	}
	return c
}

// TestDeadLetters: the newest of a row is kept; a good change or a delete of the row, or a full epoch that has it no more, makes it obsolete. A table whose rows are all
// dead letters is not taken for one that was emptied.
func TestDeadLetters(t *testing.T) {
	l := newLettered(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.worker.Run(ctx) }()
	const bad = `\ud800`
	l.take(true, []stream.Change{note('r', 1, "a"), note('r', 2, bad), note('r', 3, bad)}, "1a", `[{"id":2}@1 {"id":3}@1]`)
	l.take(false, []stream.Change{note('u', 2, "b"), note('u', 3, bad), note('u', 1, bad)}, "2b", `[{"id":1}@2 {"id":3}@2]`)
	l.take(false, []stream.Change{note('d', 3, ""), note('u', 2, bad)}, "", `[{"id":1}@2 {"id":2}@3]`)
	time.Sleep(200 * time.Millisecond) // some looks at the target
	l.take(false, []stream.Change{note('c', 4, "d")}, "4d", `[{"id":1}@2 {"id":2}@3]`)
	l.take(true, []stream.Change{note('r', 1, bad), note('r', 4, "d")}, "4d", `[{"id":1}@5]`)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
