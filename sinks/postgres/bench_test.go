package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

const benchRows = 100_000

// BenchmarkUpsert compares the sink with what a good engineer writes by hand for the same rows: COPY into a
// temporary table, INSERT … ON CONFLICT DO UPDATE.
func BenchmarkUpsert(b *testing.B) {
	ours := func(b *testing.B) {
		exec(b, "DROP SCHEMA IF EXISTS bench CASCADE", "CREATE SCHEMA bench")
		s := open(b, postgres.Options{Schema: "bench"})
		defer s.Close()
		sinktest.Bench(b, s, benchRows)
	}
	b.Run("sink", ours)
	b.Run("hand", func(b *testing.B) {
		exec(b, "DROP SCHEMA IF EXISTS bench CASCADE", "CREATE SCHEMA bench",
			"CREATE TABLE bench.hand (id bigint PRIMARY KEY, name text, city text, balance numeric, visits integer, active boolean)")
		conn := connect(b)
		byHand(b, conn, 0)
		version := 1
		for b.Loop() {
			byHand(b, conn, version)
			version++
		}
		sinktest.Rate(b, benchRows)
	})
	b.Run("again", ours) // what differs from the first is noise
}

func byHand(b *testing.B, conn *pgx.Conn, version int) {
	tx, err := conn.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := tx.Exec(b.Context(), "CREATE TEMP TABLE stage (LIKE bench.hand) ON COMMIT DROP"); err != nil {
		b.Fatal(err)
	}
	names := []string{"id", "name", "city", "balance", "visits", "active"}
	_, err = tx.CopyFrom(b.Context(), pgx.Identifier{"stage"}, names, pgx.CopyFromSlice(benchRows, func(i int) ([]any, error) {
		id, name, city, balance, visits, active := sinktest.BenchRow(i, version)
		return []any{id, name, city, balance, visits, active}, nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	_, err = tx.Exec(b.Context(), `INSERT INTO bench.hand SELECT * FROM stage ON CONFLICT (id) DO UPDATE SET
		name = excluded.name, city = excluded.city, balance = excluded.balance, visits = excluded.visits, active = excluded.active`)
	if err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
}
