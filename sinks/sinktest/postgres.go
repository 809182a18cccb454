package sinktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private cluster on a loopback port, without passwords.
type Postgres struct {
	URL  string // of database postgres, as superuser postgres
	Port int
	process
}

// StartPostgres starts a cluster for a test.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	return started(t, NewPostgres)
}

const postgresHint = "Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql"

// NewPostgres makes and starts a cluster. It survives the death of its processes, not that of the machine.
func NewPostgres(ctx context.Context) (*Postgres, error) {
	initdb, err := find("initdb", postgresHint, "/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb")
	if err != nil {
		return nil, err
	}
	p := &Postgres{}
	if p.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "statebridge-postgres-"); err != nil {
		return nil, err
	}
	if p.as != nil {
		if err := os.Chown(p.dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
			return nil, err
		}
	}
	init := exec.CommandContext(ctx, initdb, "-D", p.dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: p.as}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if p.Port, err = freePort(); err != nil {
		return nil, err
	}
	p.URL = address(p.Port)
	p.path = filepath.Join(filepath.Dir(initdb), "postgres")
	p.args = arguments(p.dir, p.Port)
	return p, p.Start(ctx)
}

func address(port int) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
}

func arguments(dir string, port int) []string {
	return []string{
		"-D", dir, "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-k", "",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=100", "-c", "shared_buffers=64MB",
	}
}

// Start starts the cluster again after Kill or Stop.
func (p *Postgres) Start(ctx context.Context) error {
	if err := p.start(); err != nil {
		return err
	}
	return p.await(func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, p.URL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// Kill ends the server's first process as kill -9 does; the others follow.
func (p *Postgres) Kill() { p.signal(syscall.SIGKILL) }

// Stop ends the server and breaks its connections.
func (p *Postgres) Stop() { p.signal(syscall.SIGINT) }

// Close stops the server and removes its files.
func (p *Postgres) Close() error {
	p.Stop()
	return os.RemoveAll(p.dir)
}
