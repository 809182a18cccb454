package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
)

// maxName is how many bytes of a name PostgreSQL keeps; it would cut a longer one and say nothing.
const maxName = 63

// Prepare creates the table, or widens the one that it once created, or checks one that somebody else did.
func (s *Sink) Prepare(ctx context.Context, t sinks.Table) error {
	if err := s.check(t); err != nil {
		return err
	}
	return s.inTransaction(ctx, func(tx pgx.Tx) error {
		// One at a time in the database: CREATE … IF NOT EXISTS fails when two run at once. The lock ends with the transaction.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('statebridge'))`); err != nil {
			return err
		}
		if err := createProgress(ctx, tx); err != nil {
			return err
		}
		return s.prepareTable(ctx, tx, t)
	})
}

func (s *Sink) check(t sinks.Table) error {
	faults := []error{sqltable.Check(t)}
	names := []string{s.schema, t.Consumer}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	for _, name := range names {
		if len(name) > maxName {
			faults = append(faults, fmt.Errorf("consumer %q: the name %q is longer than the %d bytes that PostgreSQL keeps", t.Consumer, name, maxName))
		}
	}
	return sinks.Permanent(errors.Join(faults...))
}

const progressTable = `CREATE TABLE IF NOT EXISTS statebridge.progress (
	source text NOT NULL, consumer text NOT NULL, target text NOT NULL,
	chain text NOT NULL DEFAULT '', epoch bigint NOT NULL DEFAULT 0, revision bigint NOT NULL DEFAULT 0,
	job text NOT NULL DEFAULT '', checkpoint_id bigint NOT NULL DEFAULT 0, location text NOT NULL DEFAULT '', savepoint boolean NOT NULL DEFAULT false,
	rows bigint NOT NULL DEFAULT 0, created boolean NOT NULL, columns text[] NOT NULL, committed_at timestamptz,
	PRIMARY KEY (source, consumer, target))`

// createProgress makes the schema statebridge if there is none. It asks first: a role that may not create needs not, once it is there.
func createProgress(ctx context.Context, tx pgx.Tx) error {
	var schema, table bool
	err := tx.QueryRow(ctx, `SELECT to_regnamespace('statebridge') IS NOT NULL, to_regclass('statebridge.progress') IS NOT NULL`).Scan(&schema, &table)
	if err != nil || table {
		return err
	}
	if !schema {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS statebridge`); err != nil {
			return fmt.Errorf("creating schema statebridge: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, progressTable); err != nil {
		return fmt.Errorf("creating table statebridge.progress: %w", err)
	}
	return nil
}

func (s *Sink) prepareTable(ctx context.Context, tx pgx.Tx, t sinks.Table) error {
	have, err := readColumns(ctx, tx, s.name(t))
	if err != nil {
		return err
	}
	var created bool
	err = tx.QueryRow(ctx, `SELECT created FROM statebridge.progress WHERE source = $1 AND consumer = $2 AND target = $3`,
		t.Source, t.Consumer, s.name(t)).Scan(&created)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	fresh := len(have) == 0
	if !fresh {
		if err := s.alone(ctx, tx, t); err != nil {
			return err
		}
	}
	switch {
	case fresh:
		created, err = true, s.create(ctx, tx, t)
	case created && s.drift.Changes():
		err = s.widen(ctx, tx, t, have)
	case created:
		err = s.drift.Check(t, missing(have, t.Columns), grown(have, t.Columns))
	default:
		err = nil // there is no progress row yet
	}
	if !fresh {
		t.Columns, _ = s.drift.Split(t.Columns, in(have))
	}
	if err == nil {
		err = s.preflight(ctx, tx, t, created && !fresh)
	}
	if err != nil {
		return err
	}
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	_, err = tx.Exec(ctx, `INSERT INTO statebridge.progress AS p (source, consumer, target, created, columns) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (source, consumer, target) DO UPDATE SET created = excluded.created,
			columns = CASE WHEN $6 THEN excluded.columns ELSE ARRAY(SELECT unnest(p.columns) UNION SELECT unnest(excluded.columns)) END
		WHERE p.created <> excluded.created OR $6 OR NOT p.columns @> excluded.columns`,
		t.Source, t.Consumer, s.name(t), created, names, fresh)
	return err
}

// alone refuses a table that another consumer feeds: each would delete the other's rows.
func (s *Sink) alone(ctx context.Context, tx pgx.Tx, t sinks.Table) error {
	var source, consumer string
	err := tx.QueryRow(ctx, `SELECT source, consumer FROM statebridge.progress WHERE target = $1 AND (source, consumer) <> ($2, $3)`,
		s.name(t), t.Source, t.Consumer).Scan(&source, &consumer)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return sinks.Permanent(fmt.Errorf("table %s is fed by consumer %q of source %q already; if that one is gone for good, delete its row from statebridge.progress",
		s.name(t), consumer, source))
}

func (s *Sink) create(ctx context.Context, tx pgx.Tx, t sinks.Table) error {
	var parts []string
	for _, c := range t.Columns {
		part := sqltable.Quote(c.Name) + " " + native(c.Type)
		if c.Key {
			part += " NOT NULL"
		}
		parts = append(parts, part)
	}
	parts = append(parts, "PRIMARY KEY ("+sqltable.List("", sqltable.Keys(t.Columns))+")")
	if _, err := tx.Exec(ctx, "CREATE TABLE "+s.name(t)+" ("+strings.Join(parts, ", ")+")"); err != nil {
		return fmt.Errorf("creating table %s: %w", s.name(t), err)
	}
	return nil
}

// widen adds the columns that the state has grown by and widens numbers, in one statement: the table is rewritten once at most.
func (s *Sink) widen(ctx context.Context, tx pgx.Tx, t sinks.Table, have map[string]column) error {
	var actions []string
	for _, c := range missing(have, t.Columns) {
		if !c.Key { // a new key column is no growth; preflight names it
			actions = append(actions, "ADD COLUMN "+sqltable.Quote(c.Name)+" "+native(c.Type))
		}
	}
	for _, c := range grown(have, t.Columns) {
		actions = append(actions, "ALTER COLUMN "+sqltable.Quote(c.Name)+" TYPE "+native(c.Type))
	}
	if len(actions) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "ALTER TABLE "+s.name(t)+" "+strings.Join(actions, ", ")); err != nil {
		return fmt.Errorf("widening table %s: %w", s.name(t), err)
	}
	return nil
}
