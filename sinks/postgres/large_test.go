package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/stream"
)

// TestWideEpoch: 40 000 rows of 12 columns change in one epoch, far above the 65 535 parameters that a statement may have. A reader that counts all the
// while sees all of them or none.
func TestWideEpoch(t *testing.T) {
	const n, columns = 40_000, 12
	exec(t, "CREATE SCHEMA wide")
	s := open(t, postgres.Options{Schema: "wide"})
	defer s.Close()
	list := []stream.Column{id}
	for i := range columns - 1 {
		list = append(list, stream.Column{Name: fmt.Sprint("c", i), Type: "int64"})
	}
	table := prepared(t, s, "rows", list...)
	rows := func(op byte, v int) (changes []stream.Change) {
		for i := range n {
			var b strings.Builder
			fmt.Fprintf(&b, `{"id":%d`, i)
			for c := range columns - 1 {
				fmt.Fprintf(&b, `,"c%d":%d`, c, v+c)
			}
			changes = append(changes, stream.Change{Op: op, Key: fmt.Appendf(nil, `{"id":%d}`, i), After: []byte(b.String() + "}"), Seq: uint64(i + 1)})
		}
		return changes
	}
	commit(t, s, table, epoch(table, 1, true), rows('r', 100)...)

	stop, stopped := context.WithCancel(t.Context())
	g, ctx := errgroup.WithContext(t.Context())
	reads := map[int]int{}
	g.Go(func() error {
		conn, err := pgx.Connect(ctx, server.URL)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		for stop.Err() == nil {
			var count, first, last, distinct int
			err := conn.QueryRow(ctx, "SELECT count(*), min(c0), max(c10), count(DISTINCT c5) FROM wide.rows").Scan(&count, &first, &last, &distinct)
			if err != nil {
				return err
			}
			if count != n || distinct != 1 || last != first+10 {
				return fmt.Errorf("a reader sees %d rows of %d versions, from %d to %d", count, distinct, first, last)
			}
			reads[first]++
		}
		return nil
	})
	g.Go(func() error {
		defer stopped()
		for e, full := range []bool{false, true, false} {
			if err := retry(ctx, s, table, epoch(table, uint64(e+2), full), rows('u', 200+100*e)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("reads of each version: %v", reads)
	if len(reads) < 2 {
		t.Errorf("the reader saw only %v", reads)
	}
	var right int
	if err := connect(t).QueryRow(t.Context(), "SELECT count(*) FROM wide.rows WHERE c0 = 400 AND c10 = 410").Scan(&right); err != nil || right != n {
		t.Errorf("%d rows hold the last version, want %d: %v", right, n, err)
	}
}
