package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

var amount = stream.Column{Name: "amount", Type: "int64"}

func prepared(t testing.TB, s sinks.Sink, consumer string, columns ...stream.Column) sinks.Table {
	t.Helper()
	table := sinks.Table{Source: t.Name(), Consumer: consumer, Columns: columns}
	if err := s.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return table
}

func accounts(op byte, n int, value func(i int) int) (changes []stream.Change) {
	for i := range n {
		changes = append(changes, stream.Change{
			Op: op, Key: fmt.Appendf(nil, `{"id":%d}`, i), After: fmt.Appendf(nil, `{"id":%d,"amount":%d}`, i, value(i)), Seq: uint64(i + 1),
		})
	}
	return changes
}

// retry does what a Worker does: the whole epoch again, from the position on, until it is in.
func retry(ctx context.Context, s sinks.Sink, table sinks.Table, to stream.Epoch, changes []stream.Change) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := once(ctx, s, table, to, changes)
		var permanent *sinks.PermanentError
		if err == nil || errors.As(err, &permanent) || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func once(ctx context.Context, s sinks.Sink, table sinks.Table, to stream.Epoch, changes []stream.Change) error {
	from, err := s.Position(ctx, table)
	if err != nil || from.Chain == to.Chain && from.Epoch >= to.Number {
		return err
	}
	tx, err := s.Begin(ctx, table, from, to)
	if err != nil {
		return err
	}
	if err = tx.Apply(ctx, changes); err == nil {
		err = tx.Commit(ctx)
	}
	return errors.Join(err, tx.Rollback(ctx))
}

// TestReaderSeesWholeEpochs moves money between accounts while a reader sums them, and backends are terminated.
func TestReaderSeesWholeEpochs(t *testing.T) {
	const n, epochs = 2000, 30
	exec(t, "CREATE SCHEMA whole")
	s := open(t, postgres.Options{Schema: "whole"})
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	balances := make([]int, n)
	for i := range balances {
		balances[i] = 100
	}
	changes := func(op byte) []stream.Change { return accounts(op, n, func(i int) int { return balances[i] }) }
	commit(t, s, table, epoch(table, 1, true), changes('r')...)

	stop, stopped := context.WithCancel(t.Context())
	g, ctx := errgroup.WithContext(t.Context())
	reads := 0
	g.Go(func() error {
		conn, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		for ; stop.Err() == nil; reads++ {
			var count, sum int
			if err := conn.QueryRow(ctx, "SELECT count(*), sum(amount) FROM whole.bank").Scan(&count, &sum); err != nil {
				return err
			}
			if count != n || sum != n*100 {
				return fmt.Errorf("a reader sees %d rows and the sum %d, want %d and %d", count, sum, n, n*100)
			}
		}
		return nil
	})
	kills := 0
	g.Go(func() error { return whileOpen(stop, ctx, "killer", killer(ctx, t.Name(), &kills)) })
	g.Go(func() error {
		defer stopped()
		for e := range uint64(epochs) {
			for range 500 {
				a, b, sum := rand.IntN(n), rand.IntN(n), rand.IntN(50)
				balances[a] -= sum
				balances[b] += sum
			}
			if err := retry(ctx, s, table, epoch(table, e+2, e%7 == 6), changes('u')); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reads, %d connections cut", reads, kills)
	for _, r := range read(t, "whole", table) {
		var i, v int
		if _, err := fmt.Sscan(r["id"], &i); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(r["amount"], &v); err != nil {
			t.Fatal(err)
		}
		if balances[i] != v {
			t.Fatalf("account %d holds %d, want %d", i, v, balances[i])
		}
	}
}

// TestForeignWriters: two strangers write the rows of a table in opposite orders, so that they and the sink deadlock; whoever is chosen tries again.
func TestForeignWriters(t *testing.T) {
	const n = 2000
	exec(t, "CREATE SCHEMA dead", "ALTER DATABASE postgres SET deadlock_timeout = '10ms'")
	defer exec(t, "ALTER DATABASE postgres RESET deadlock_timeout")
	s := open(t, postgres.Options{Schema: "dead"})
	defer s.Close()
	table := prepared(t, s, "shared", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', n, func(int) int { return 0 })...)
	g, ctx := errgroup.WithContext(t.Context())
	done, finish := context.WithCancel(ctx)
	for _, step := range []int{100, -100} {
		g.Go(func() error { return scribble(ctx, done, n, step) })
	}
	g.Go(func() error {
		defer finish()
		for e := range uint64(10) {
			changes := accounts('u', n, func(int) int { return int(e) })
			rand.Shuffle(n, func(i, k int) { changes[i], changes[k] = changes[k], changes[i] })
			if err := retry(ctx, s, table, epoch(table, e+2, false), changes); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// scribble updates every hundredth row, upwards or downwards, until done ends.
func scribble(ctx, done context.Context, n, step int) error {
	conn, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for done.Err() == nil {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		for i := range n / 100 {
			if _, err = tx.Exec(ctx, "UPDATE dead.shared SET amount = 9 WHERE id = $1", (n+i*step)%n); err != nil {
				break
			}
		}
		if err == nil {
			err = tx.Commit(ctx)
		}
		_ = tx.Rollback(ctx)
		if err != nil && !strings.Contains(err.Error(), "40P01") {
			return err
		}
	}
	return nil
}

// TestOneConsumerATable: two that feed one table would delete each other's rows.
func TestOneConsumerATable(t *testing.T) {
	s := open(t, postgres.Options{})
	defer s.Close()
	table := prepared(t, s, "taken", id, amount)
	table.Source = "another"
	var permanent *sinks.PermanentError
	if err := s.Prepare(t.Context(), table); !errors.As(err, &permanent) || !strings.Contains(err.Error(), t.Name()) {
		t.Fatalf("err = %v", err)
	}
}

// TestReadOnlyServer: a primary that turns read-only, as after a failover, is waited for.
func TestReadOnlyServer(t *testing.T) {
	exec(t, "CREATE SCHEMA readonly")
	s := open(t, postgres.Options{Schema: "readonly"})
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', 10, func(int) int { return 1 })...)
	exec(t, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	var after sync.Once
	restore := func() {
		exec(t, "SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
	}
	defer after.Do(restore)
	time.Sleep(100 * time.Millisecond)
	s2 := open(t, postgres.Options{Schema: "readonly"})
	defer s2.Close()
	err := try(t, s2, table, epoch(table, 2, false), accounts('u', 10, func(int) int { return 2 })...)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "25006") {
		t.Fatalf("err = %v, want one with SQLSTATE 25006 that is worth a retry", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { after.Do(restore) })
	if err := retry(t.Context(), s2, table, epoch(table, 2, false), accounts('u', 10, func(int) int { return 2 })); err != nil {
		t.Fatal(err)
	}
}

// TestServerKilled: kill -9 in the middle of an epoch leaves the epoch before, and the worker goes on.
func TestServerKilled(t *testing.T) {
	own := sinktest.StartPostgres(t)
	s, err := postgres.Open(t.Context(), own.URL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', 100, func(int) int { return 1 })...)
	from, err := s.Position(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(t.Context(), table, from, epoch(table, 2, false))
	if err == nil {
		err = tx.Apply(t.Context(), accounts('u', 100, func(int) int { return 2 }))
	}
	if err != nil {
		t.Fatal(err)
	}
	own.Kill()
	if err := tx.Commit(t.Context()); err == nil {
		t.Fatal("committed to a dead server")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Logf("rollback: %v", err)
	}
	if err := own.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Position(t.Context(), table); err != nil || at != from {
		t.Fatalf("position = %+v, %v, want %+v", at, err, from)
	}
	commit(t, s, table, epoch(table, 2, false), accounts('u', 100, func(int) int { return 3 })...)
}

// TestLateTransactionIsFenced: a worker that is slow, not dead, finds the row locked or moved.
func TestLateTransactionIsFenced(t *testing.T) {
	exec(t, "CREATE SCHEMA late")
	s := open(t, postgres.Options{Schema: "late"})
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', 10, func(int) int { return 1 })...)
	from, err := s.Position(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Begin(t.Context(), table, from, epoch(table, 2, false))
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := s.Begin(t.Context(), table, from, epoch(table, 2, false))
		second <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := errors.Join(first.Apply(t.Context(), accounts('u', 10, func(int) int { return 2 })), first.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := <-second; !errors.Is(err, sinks.ErrFenced) {
		t.Fatalf("the second transaction gets %v, want %v", err, sinks.ErrFenced)
	}
}

// TestTableChangedUnderUs: dropped, or without a column, in mid-run.
func TestTableChangedUnderUs(t *testing.T) {
	exec(t, "CREATE SCHEMA changed")
	s := open(t, postgres.Options{Schema: "changed"})
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', 10, func(int) int { return 1 })...)
	exec(t, "ALTER TABLE changed.bank DROP COLUMN amount")
	err := try(t, s, table, epoch(table, 2, false), accounts('u', 10, func(int) int { return 2 })...)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) {
		t.Fatalf("without a column: %v, want an error worth a retry after Prepare", err)
	}
	exec(t, "DROP TABLE changed.bank")
	if at, err := s.Position(t.Context(), table); err != nil || at.Chain != "" {
		t.Fatalf("without the table: %+v, %v", at, err)
	}
	if err := s.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	commit(t, s, table, epoch(table, 1, true), accounts('r', 5, func(int) int { return 3 })...)
	if got := len(read(t, "changed", table)); got != 5 {
		t.Fatalf("%d rows, want 5", got)
	}
}
