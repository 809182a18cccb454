package sinktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PgBouncer pools the connections to a cluster, a server connection for each transaction.
type PgBouncer struct {
	URL string
	process
}

// StartPgBouncer starts a pooler with so many server connections for a test.
func StartPgBouncer(t testing.TB, p *Postgres, connections int) *PgBouncer {
	t.Helper()
	return started(t, func(ctx context.Context) (*PgBouncer, error) { return NewPgBouncer(ctx, p, connections) })
}

// NewPgBouncer starts a pooler in transaction mode.
func NewPgBouncer(ctx context.Context, p *Postgres, connections int) (*PgBouncer, error) {
	path, err := find("pgbouncer", "Debian and Ubuntu: apt-get install pgbouncer; macOS: brew install pgbouncer", "/usr/sbin/pgbouncer")
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{process: process{path: path}}
	if b.as, err = unprivileged(); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "statebridge-pgbouncer-"); err != nil {
		return nil, err
	}
	config := filepath.Join(b.dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=127.0.0.1 port=%d user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = %d\nmax_client_conn = 100\n", p.Port, port, connections)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return nil, err
	}
	b.args = []string{config}
	b.URL = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	if err := b.start(); err != nil {
		return nil, err
	}
	return b, b.await(func() error {
		conn, err := pgx.Connect(ctx, b.URL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// Close stops the pooler.
func (b *PgBouncer) Close() error {
	b.signal(syscall.SIGTERM)
	return os.RemoveAll(b.dir)
}
