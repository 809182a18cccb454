package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	driver "modernc.org/sqlite"
	code "modernc.org/sqlite/lib"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
)

// Options tune a Sink; the zero value works.
type Options struct {
	SchemaDrift sinks.Drift
	BadValue    sinks.BadValue
}

// Sink is a SQLite file.
type Sink struct {
	drift sinks.Drift
	bad   sinks.BadValue
	write *sql.DB // one connection: SQLite has one writer
	read  *sql.DB // positions are read while another consumer's epoch is being written
	made  atomic.Bool
}

// Open opens the database at path and creates the file when it is absent.
func Open(ctx context.Context, path string, o Options) (*Sink, error) {
	if !o.SchemaDrift.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("schema drift %q is none of add, stop and ignore", o.SchemaDrift))
	}
	if !o.BadValue.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("on bad value %q is neither reject nor replace", o.BadValue))
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", Path: absolute, RawQuery: url.Values{
		"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)"},
		"_txlock": {"immediate"},
	}.Encode()}
	s := &Sink{drift: o.SchemaDrift, bad: o.BadValue}
	if s.write, err = sql.Open("sqlite", file.String()); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", file.String()); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	s.write.SetMaxOpenConns(1)
	if err := s.ready(ctx); err != nil && !busy(err) {
		return nil, errors.Join(fmt.Errorf("sqlite database %s: %w", path, classify(err)), s.Close())
	}
	return s, nil
}

// ready makes the table of positions, once. Another process may keep the file locked, at the start of this one too.
func (s *Sink) ready(ctx context.Context) error {
	if s.made.Load() {
		return nil
	}
	_, err := s.write.ExecContext(ctx, createProgress)
	s.made.Store(err == nil)
	return err
}

// Close closes the file.
func (s *Sink) Close() error { return errors.Join(s.write.Close(), s.read.Close()) }

const createProgress = `CREATE TABLE IF NOT EXISTS statebridge_progress (
	source TEXT NOT NULL, consumer TEXT NOT NULL,
	chain TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0,
	job TEXT NOT NULL DEFAULT '', checkpoint_id INTEGER NOT NULL DEFAULT 0, location TEXT NOT NULL DEFAULT '', savepoint INTEGER NOT NULL DEFAULT 0,
	rows INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL, columns TEXT NOT NULL, committed_at TEXT,
	PRIMARY KEY (source, consumer))`

const selectPosition = `SELECT chain, epoch, revision, job, checkpoint_id, location, savepoint, rows
	FROM statebridge_progress WHERE source = ? AND consumer = ?`

// Position reads the progress row, and looks whether the rows that it tells of are still there.
func (s *Sink) Position(ctx context.Context, t sinks.Table) (sinks.Position, error) {
	if err := s.ready(ctx); err != nil {
		return sinks.Position{}, classify(err)
	}
	var p sinks.Position
	var rows int64
	err := s.read.QueryRowContext(ctx, selectPosition, t.Source, t.Consumer).Scan(
		&p.Chain, &p.Epoch, &p.Revision, &p.Snapshot.Job, &p.Snapshot.CheckpointID, &p.Snapshot.Location, &p.Snapshot.Savepoint, &rows)
	if errors.Is(err, sql.ErrNoRows) {
		return sinks.Position{}, nil
	}
	if err != nil {
		return sinks.Position{}, classify(err)
	}
	lost, err := s.lost(ctx, t, rows)
	if err != nil || lost != "" {
		return sinks.Position{Revision: p.Revision, Lost: lost}, err
	}
	return p, nil
}

// lost says what became of the rows that the progress row tells of; "" when they are there.
func (s *Sink) lost(ctx context.Context, t sinks.Table, rows int64) (string, error) {
	var there bool
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)`, t.Consumer).Scan(&there)
	switch {
	case err != nil:
		return "", classify(err)
	case !there:
		return sinks.TableDropped, nil
	case rows <= 0:
		return "", nil
	}
	err = s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+sqltable.Quote(t.Consumer)+")").Scan(&there)
	if err != nil || there {
		return "", classify(err)
	}
	return sinks.TableEmpty, nil
}

// classify marks what no retry can mend: the file itself is of no use.
func classify(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case code.SQLITE_NOTADB, code.SQLITE_CORRUPT, code.SQLITE_READONLY, code.SQLITE_PERM, code.SQLITE_TOOBIG:
		return sinks.Permanent(err)
	}
	return err
}

// busy tells whether somebody else has locked the file.
func busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == code.SQLITE_BUSY
}

// constraint tells whether an error is a broken NOT NULL, UNIQUE, CHECK or the like.
func constraint(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == code.SQLITE_CONSTRAINT
}
