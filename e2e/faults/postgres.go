package faults

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// auditor sums the tables, all in one statement, as fast as it can, whatever happens to the server.
type auditor struct {
	*witness
	url  string
	stop context.CancelFunc
	done sync.WaitGroup
}

const auditSQL = `SELECT coalesce(p.chain, ''), coalesce(p.epoch, 0), coalesce(p.job, ''), coalesce(p.checkpoint_id, 0), a.n, a.sum, a.digest, b.digest + c.digest, s.places FROM
	(SELECT count(*) AS n, coalesce(sum(balance) FILTER (WHERE id <> 0), 0)::bigint AS sum, coalesce(sum(balance * (id % 1009 + 1)), 0)::bigint AS digest FROM accounts) a,
	(SELECT coalesce(sum(level * (key % 1009 + 1)), 0)::bigint AS digest FROM profiles) b,
	(SELECT coalesce(sum(value), 0)::bigint * 7 AS digest FROM carts) c,
	(SELECT count(DISTINCT (job, checkpoint_id, location)) AS places FROM statebridge.progress WHERE source = 'bank') s
	LEFT JOIN statebridge.progress p ON p.source = 'bank' AND p.consumer = 'accounts'`

// audit begins when the table has been filled for the first time.
func audit(l *ledger, url string) *auditor {
	ctx, stop := context.WithCancel(l.t.Context())
	a := &auditor{witness: newWitness(l, "postgres"), url: url, stop: stop}
	a.done.Go(func() {
		for ctx.Err() == nil {
			a.connected(ctx)
			pause(ctx, 50*time.Millisecond)
		}
	})
	l.t.Cleanup(a.halt)
	return a
}

// connected looks until the connection breaks.
func (a *auditor) connected(ctx context.Context) {
	dial, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := pgx.Connect(dial, a.url)
	if err != nil {
		return
	}
	defer db.Close(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		if err := a.look(ctx, db); err != nil {
			return
		}
		pause(ctx, 5*time.Millisecond) // the cores are for the others, too
	}
}

func (a *auditor) look(ctx context.Context, db *pgx.Conn) error {
	var p position
	var s state
	var n, sum, places int64
	var digest digests
	err := db.QueryRow(ctx, auditSQL).Scan(&p.chain, &p.epoch, &s.job, &s.checkpoint, &n, &sum, &digest.accounts, &digest.others, &places)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" && a.looks == 0 {
		pause(ctx, 100*time.Millisecond)
		return nil // no table yet
	}
	if err != nil || n == 0 && a.looks == 0 {
		return err
	}
	if places != 1 {
		a.differ("postgres showed tables of %d checkpoints at once, accounts of %d", places, s.checkpoint)
	}
	a.see(p, s, n, sum, digest)
	return nil
}

func (a *auditor) halt() {
	a.stop()
	a.done.Wait()
}

// end stops looking, and compares what was seen with what the checkpoints hold.
func (a *auditor) end(held map[state]digests) {
	a.halt()
	a.compare(held)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
