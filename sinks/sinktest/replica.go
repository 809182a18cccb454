package sinktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// StartPostgresReplica copies a running cluster for a test and starts the copy as its streaming replica.
func StartPostgresReplica(t testing.TB, primary *Postgres) *Postgres {
	t.Helper()
	return started(t, func(ctx context.Context) (*Postgres, error) { return newReplica(ctx, primary) })
}

func newReplica(ctx context.Context, primary *Postgres) (*Postgres, error) {
	backup, err := find("pg_basebackup", postgresHint, "/usr/lib/postgresql/*/bin/pg_basebackup", "/usr/pgsql-*/bin/pg_basebackup")
	if err != nil {
		return nil, err
	}
	p := &Postgres{}
	p.as, p.path = primary.as, primary.path
	if p.dir, err = os.MkdirTemp("", "statebridge-replica-"); err != nil {
		return nil, err
	}
	if p.as != nil {
		if err := os.Chown(p.dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
			return nil, err
		}
	}
	copying := exec.CommandContext(ctx, backup, "-D", p.dir, "-d", primary.URL, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	copying.Dir, copying.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: p.as}
	if out, err := copying.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(backup), err, out)
	}
	if p.Port, err = freePort(); err != nil {
		return nil, err
	}
	p.URL = address(p.Port)
	p.args = arguments(p.dir, p.Port)
	return p, p.Start(ctx)
}

// CatchUp waits until a replica has replayed all that its primary has written.
func (p *Postgres) CatchUp(t testing.TB, primary *Postgres) {
	t.Helper()
	var at string
	ask(t, primary, "SELECT pg_current_wal_lsn()::text", &at)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var there bool
		if ask(t, p, "SELECT pg_last_wal_replay_lsn() >= '"+at+"'::pg_lsn", &there); there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the replica does not catch up")
		}
	}
}

func ask(t testing.TB, p *Postgres, query string, answer any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL)
	if err == nil {
		defer conn.Close(context.WithoutCancel(t.Context()))
		err = conn.QueryRow(t.Context(), query).Scan(answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
