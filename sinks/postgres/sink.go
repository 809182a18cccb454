package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
)

// Options tune a Sink; the zero value works.
type Options struct {
	Schema         string // of the mirrored tables; "": public
	SchemaDrift    sinks.Drift
	BadValue       sinks.BadValue
	MaxConnections int32 // each consumer needs one while it writes; 0: pgx's default
}

// Sink is a PostgreSQL database.
type Sink struct {
	pool   *pgxpool.Pool
	schema string
	drift  sinks.Drift
	bad    sinks.BadValue
	cares  cares
}

// Open reads a connection string. It connects with the first use, so a server that is away for now is no error here.
func Open(ctx context.Context, url string, o Options) (*Sink, error) {
	if !o.SchemaDrift.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("schema drift %q is none of add, stop and ignore", o.SchemaDrift))
	}
	if !o.BadValue.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("on bad value %q is neither reject nor replace", o.BadValue))
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, sinks.Permanent(fmt.Errorf("postgres address: %w", err)) // pgx masks the password
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity = 0
	config.ConnConfig.DescriptionCacheCapacity = 0
	if o.MaxConnections > 0 {
		config.MaxConns = o.MaxConnections
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "statebridge"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if o.Schema == "" {
		o.Schema = "public"
	}
	return &Sink{pool: pool, schema: o.Schema, drift: o.SchemaDrift, bad: o.BadValue}, nil
}

// Close closes the connections.
func (s *Sink) Close() error {
	s.pool.Close()
	return nil
}

// name is the quoted name of a consumer's table.
func (s *Sink) name(t sinks.Table) string {
	return sqltable.Quote(s.schema) + "." + sqltable.Quote(t.Consumer)
}

// inTransaction runs f in a transaction of its own. A connection that gave an error is not used again.
func (s *Sink) inTransaction(ctx context.Context, f func(pgx.Tx) error) error {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err = f(tx); err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		return errors.Join(classify(err), abandon(ctx, conn))
	}
	return nil
}

func (s *Sink) begin(ctx context.Context) (*pgxpool.Conn, pgx.Tx, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, classify(err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		err = errors.Join(classify(err), abandon(ctx, conn))
		conn.Release()
		return nil, nil, err
	}
	return conn, tx, nil
}

// abandon closes a connection and so rolls back what it was doing; the server may be another one the next time.
func abandon(ctx context.Context, conn *pgxpool.Conn) error {
	if conn.Conn().IsClosed() {
		return nil
	}
	return conn.Conn().Close(ctx)
}

const selectPosition = `SELECT chain, epoch, revision, job, checkpoint_id, location, savepoint, rows
	FROM statebridge.progress WHERE source = $1 AND consumer = $2 AND target = $3`

// Position reads the progress row, and looks whether the rows that it tells of are still there.
func (s *Sink) Position(ctx context.Context, t sinks.Table) (sinks.Position, error) {
	var p sinks.Position
	err := s.inTransaction(ctx, func(tx pgx.Tx) (err error) {
		p, err = s.position(ctx, tx, t)
		return err
	})
	return p, err
}

func (s *Sink) position(ctx context.Context, tx pgx.Tx, t sinks.Table) (p sinks.Position, err error) {
	var progress, table bool
	err = tx.QueryRow(ctx, `SELECT to_regclass('statebridge.progress') IS NOT NULL, to_regclass($1) IS NOT NULL`, s.name(t)).Scan(&progress, &table)
	if err != nil || !progress {
		return p, err
	}
	var rows int64
	err = tx.QueryRow(ctx, selectPosition, t.Source, t.Consumer, s.name(t)).Scan(
		&p.Chain, &p.Epoch, &p.Revision, &p.Snapshot.Job, &p.Snapshot.CheckpointID, &p.Snapshot.Location, &p.Snapshot.Savepoint, &rows)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	lost, err := s.lost(ctx, tx, t, table, rows)
	if err == nil && lost != "" {
		p = sinks.Position{Revision: p.Revision, Lost: lost}
	}
	return p, err
}

// lost says what became of the rows that the progress row tells of; "" when they are there.
func (s *Sink) lost(ctx context.Context, tx pgx.Tx, t sinks.Table, table bool, rows int64) (string, error) {
	if !table {
		return sinks.TableDropped, nil
	}
	if rows <= 0 {
		return "", nil
	}
	var filled bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+s.name(t)+`)`).Scan(&filled)
	if err != nil || filled {
		return "", err
	}
	return sinks.TableEmpty, nil
}
