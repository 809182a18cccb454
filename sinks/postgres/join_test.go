package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestReaderSeesTablesTogether: two workers, of which one is always late, take two tables from step to step, some of them half published, while backends are terminated in all
// places; readers that join the tables see one step in both.
func TestReaderSeesTablesTogether(t *testing.T) {
	const n, steps = 300, 60
	exec(t, "CREATE SCHEMA together")
	source, reg := sinktest.OpenSource(t, sinktest.StartBus(t), "together")
	stop, stopped := context.WithCancel(t.Context())
	defer stopped()
	g, ctx := errgroup.WithContext(t.Context())
	var workers []*sinks.Worker
	for range 2 {
		s := open(t, postgres.Options{Schema: "together"})
		defer s.Close()
		w := sinks.NewWorker("pg", s, []sinks.Table{{Source: "together", Consumer: "a"}, {Source: "together", Consumer: "b"}}, source, reg,
			slog.New(slog.DiscardHandler), sinks.Options{Recheck: time.Second, MinWait: time.Millisecond, MaxWait: 50 * time.Millisecond})
		workers = append(workers, w)
		g.Go(func() error { return w.Run(stop) })
	}
	publishers := map[string]*stream.Publisher{}
	publish := func(table string, step int, full bool) stream.Epoch {
		t.Helper()
		if publishers[table] == nil {
			p, err := source.Publisher(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			publishers[table] = p
		}
		w, err := publishers[table].Begin(t.Context(), stream.Epoch{
			Full: full, Step: uint64(step), Snapshot: stream.SnapshotRef{CheckpointID: int64(step)}, Columns: []stream.Column{id, amount}, Partitions: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		op := byte('u')
		if full {
			op = 'r'
		}
		for _, c := range accounts(op, n, func(int) int { return step }) {
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
	await := func(epochs ...stream.Epoch) {
		t.Helper()
		wait, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		for _, w := range workers {
			if err := w.Wait(wait, epochs...); err != nil {
				t.Fatalf("%v, %v (%v)", context.Cause(ctx), err, w.Failing())
			}
		}
	}
	await(publish("a", 1, true), publish("b", 1, true))

	reads, seen := 0, map[int64]bool{}
	g.Go(func() error {
		return whileOpen(stop, ctx, "reader", func(conn *pgx.Conn) error {
			step, err := readJoined(ctx, conn, n)
			reads++
			seen[step] = true
			return err
		})
	})
	g.Go(func() error {
		return whileOpen(stop, ctx, "reader", func(conn *pgx.Conn) error { return readRepeatable(ctx, conn) })
	})
	kills := 0
	g.Go(func() error { return whileOpen(stop, ctx, "killer", killer(ctx, "together", &kills)) })
	for step := 2; step <= steps; step++ {
		full := step%7 == 0 // of one table, as when it was asked for
		a := publish("a", step, full)
		if step%5 == 0 && step < steps { // its publisher died before the other table's epoch
			continue
		}
		if b := publish("b", step, step%11 == 0); step%3 == 0 {
			await(a, b)
		}
	}
	await(publish("a", steps+1, false), publish("b", steps+1, false))
	stopped()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reads, %d steps seen, %d connections cut", reads, len(seen), kills)
	if len(seen) < 5 || kills < 10 || seen[5] {
		t.Errorf("%d steps seen, %d connections cut, a half step seen: %t", len(seen), kills, seen[5])
	}
}

// readJoined looks at both tables in one statement and gives the step that they are of.
func readJoined(ctx context.Context, conn *pgx.Conn, n int64) (int64, error) {
	var rows, low, high, places int64
	err := conn.QueryRow(ctx, `SELECT count(*), least(min(a.amount), min(b.amount)), greatest(max(a.amount), max(b.amount)),
		(SELECT count(DISTINCT checkpoint_id) FROM statebridge.progress WHERE source = 'together') FROM together.a JOIN together.b USING (id)`).Scan(&rows, &low, &high, &places)
	if err == nil && (rows != n || low != high || places != 1) {
		err = fmt.Errorf("a reader sees %d rows of the steps %d to %d, and %d checkpoints", rows, low, high, places)
	}
	return low, err
}

// readRepeatable looks at them in several statements.
func readRepeatable(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var places [3]int64
	for i, query := range []string{
		"SELECT checkpoint_id FROM statebridge.progress WHERE source = 'together' LIMIT 1", "SELECT max(amount) FROM together.a", "SELECT min(amount) FROM together.b",
	} {
		if err := tx.QueryRow(ctx, query).Scan(&places[i]); err != nil {
			return err
		}
	}
	if places[1] != places[0] || places[2] != places[0] {
		return fmt.Errorf("a reader sees the steps %d and %d beside checkpoint %d", places[1], places[2], places[0])
	}
	return nil
}

// killer ends backends of the sinks in all places, and counts them. It takes its time where nothing is committed: on a busy machine nothing ever would be.
func killer(ctx context.Context, source string, kills *int) func(*pgx.Conn) error {
	const least = 40 * time.Millisecond
	pause, before := least, int64(0)
	return func(conn *pgx.Conn) error {
		time.Sleep(time.Duration(rand.Int64N(int64(pause))))
		var now int64
		if err := conn.QueryRow(ctx, "SELECT coalesce(max(epoch), 0) FROM statebridge.progress WHERE source = $1", source).Scan(&now); err != nil {
			return err
		}
		if pause = pause * 3 / 2; now != before {
			pause, before = least, now
		}
		done, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'statebridge' AND random() < 0.4")
		*kills += int(done.RowsAffected())
		return err
	}
}

// whileOpen does something on a connection of its own, again and again.
func whileOpen(stop, ctx context.Context, name string, do func(*pgx.Conn) error) error {
	config, err := pgx.ParseConfig(server.URL)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = name
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for stop.Err() == nil {
		if err := do(conn); err != nil {
			return err
		}
	}
	return nil
}
