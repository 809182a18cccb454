package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// drainPostgres has our table in one schema and the peer's in another.
type drainPostgres struct {
	server *sinktest.Postgres
	conn   *pgx.Conn
}

func newDrainPostgres(ctx context.Context) (drainTarget, error) {
	server, err := sinktest.NewPostgres(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &drainPostgres{server, conn}, nil
}

func (d *drainPostgres) Name() string { return "Postgres" }

func (d *drainPostgres) Clear(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, `DROP SCHEMA IF EXISTS ours, peer, statebridge CASCADE; CREATE SCHEMA ours; CREATE SCHEMA peer;
		CREATE TABLE peer.accounts (id bigint PRIMARY KEY, name text, city text, balance numeric, visits integer, active boolean)`)
	return err
}

func (d *drainPostgres) Sink(ctx context.Context) (sinks.Sink, error) {
	return postgres.Open(ctx, d.server.URL, postgres.Options{Schema: "ours"})
}

func (d *drainPostgres) Peer() (config string, env []string) {
	return "postgres.yaml", []string{"DATABASE_URL=" + d.server.URL}
}

func (d *drainPostgres) Equal(ctx context.Context) error {
	var rows, differences int
	err := d.conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM ours.accounts),
		(SELECT count(*) FROM (TABLE ours.accounts EXCEPT TABLE peer.accounts) a) + (SELECT count(*) FROM (TABLE peer.accounts EXCEPT TABLE ours.accounts) b)`,
	).Scan(&rows, &differences)
	if err == nil && (rows == 0 || differences > 0) {
		err = fmt.Errorf("%d rows in our table, %d that only one of the tables has", rows, differences)
	}
	return err
}

func (d *drainPostgres) Close() error {
	return errors.Join(d.conn.Close(context.Background()), d.server.Close())
}
