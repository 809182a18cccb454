package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// TestNewPrimary: the primary turns read-only while a sink holds a connection to it, and its replica is promoted. With both in the address the same sink
// gives the connection up, finds the new one, and repeats the epoch there, once.
func TestNewPrimary(t *testing.T) {
	old := sinktest.StartPostgres(t)
	replica := sinktest.StartPostgresReplica(t, old)
	both := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write", old.Port, replica.Port)
	s, err := postgres.Open(t.Context(), both, postgres.Options{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table := prepared(t, s, "bank", id, amount)
	commit(t, s, table, epoch(table, 1, true), accounts('r', 100, func(int) int { return 1 })...)
	replica.CatchUp(t, old)

	runOn(t, old.URL, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	change := accounts('u', 100, func(int) int { return 2 })
	if err := try(t, s, table, epoch(table, 2, false), change...); err == nil {
		t.Fatal("committed to a server that only reads")
	} else {
		t.Log(err)
	}
	for _, server := range []*sinktest.Postgres{old, replica} {
		if got := sum(t, server); got != 100 {
			t.Fatalf("port %d holds %d before there is a primary, want 100", server.Port, got)
		}
	}
	runOn(t, replica.URL, "SELECT pg_promote()")
	if err := retry(t.Context(), s, table, epoch(table, 2, false), change); err != nil {
		t.Fatal(err)
	}
	if got := sum(t, replica); got != 200 {
		t.Errorf("the new primary holds %d, want 200", got)
	}
	if got := sum(t, old); got != 100 {
		t.Errorf("the old primary holds %d, want 100", got)
	}
	if at, err := s.Position(t.Context(), table); err != nil || at.Epoch != 2 {
		t.Errorf("position = %+v, %v", at, err)
	}
}

func runOn(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func sum(t *testing.T, p *sinktest.Postgres) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL)
	if err == nil {
		defer conn.Close(context.WithoutCancel(t.Context()))
		err = conn.QueryRow(t.Context(), "SELECT sum(amount) FROM bank").Scan(&n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
