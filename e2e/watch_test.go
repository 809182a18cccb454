package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A reader looks at all tables again and again, in one statement each time, while they are mirrored, and remembers each state that it saw.
type reader struct {
	t    testing.TB
	stop context.CancelFunc
	done chan error
	seen map[[32]byte]string
	n    int // how often it looked
}

func read(t testing.TB, url string) *reader {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &reader{t: t, stop: stop, done: make(chan error, 1), seen: map[[32]byte]string{}}
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer db.Close(context.Background())
		r.done <- r.loop(ctx, db)
	}()
	return r
}

func (r *reader) loop(ctx context.Context, db *pgx.Conn) error {
	for ; ; time.Sleep(20 * time.Millisecond) {
		tables, err := postgresTables(ctx, db)
		var missing *pgconn.PgError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &missing) && missing.Code == "42P01":
			continue // no table yet
		case err != nil:
			return err
		}
		r.n++
		text := spell(tables)
		r.seen[sha256.Sum256([]byte(text))] = text
	}
}

// check ends the reader, and fails the test if it ever saw tables that no snapshot of the job held: the files in expected are of all its snapshots,
// also of those that are long deleted.
func (r *reader) check(expected string) {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatalf("read the tables: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(expected, "*.jsonl.gz"))
	if err != nil {
		r.t.Fatal(err)
	}
	states := map[[32]byte]bool{sha256.Sum256([]byte(spell(nil))): true} // the tables are created before they are filled
	for _, f := range files {
		states[sha256.Sum256([]byte(spell(Expected(r.t, f))))] = true
	}
	mixed := 0
	for hash, rows := range r.seen {
		if !states[hash] {
			mixed++
			r.t.Logf("no snapshot held %.300s", rows)
		}
	}
	if mixed > 0 {
		r.t.Errorf("%d of %d states seen were none of the %d snapshots'", mixed, len(r.seen), len(files))
	}
	if len(r.seen) < 3 {
		r.t.Errorf("only %d states seen: the job did not move", len(r.seen))
	}
	r.t.Logf("looked %d times, saw %d states of %d snapshots", r.n, len(r.seen), len(files))
}
