package postgres_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// TestPgBouncer: the whole suite through a pooler in transaction mode, and six consumers that share two server connections.
func TestPgBouncer(t *testing.T) {
	pooler := sinktest.StartPgBouncer(t, server, 2)
	pooled := target(t, "pooled")
	pooled.Open = func(t testing.TB) sinks.Sink {
		s, err := postgres.Open(t.Context(), pooler.URL, postgres.Options{Schema: "pooled"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sinktest.Run(t, pooled)

	s := pooled.Open(t)
	defer s.Close()
	g, ctx := errgroup.WithContext(t.Context())
	for c := range 6 {
		table := prepared(t, s, fmt.Sprint("shared_", c), id, amount)
		g.Go(func() error {
			for e := range uint64(10) {
				if err := retry(ctx, s, table, epoch(table, e+1, e == 0), accounts('u', 100, func(i int) int { return int(e) })); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
