package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// transaction writes straight into the tables, one epoch after the other: SQLite has one writer, and readers see nothing before the commit.
type transaction struct {
	*epoch
	sink *Sink
	tx   *sql.Tx
}

// epoch is the one at hand.
type epoch struct {
	sinks.StandIns
	table  sinks.Table
	to     stream.Epoch
	upsert statement
	remove statement
	rows   int64
}

// statement is a prepared statement and the columns that it takes.
type statement struct {
	*sql.Stmt
	columns []stream.Column
	scanner *jsonscan.Columns
	args    []any
	text    []byte
	bad     *sinks.StandIns
}

// Begin takes the write lock and compares the position with the one that was seen.
func (s *Sink) Begin(ctx context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) (sinks.Transaction, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, classify(err)
	}
	x := &transaction{sink: s, tx: tx}
	if err := x.Then(ctx, t, from, to); err != nil {
		return nil, errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return x, nil
}

// Then begins an epoch.
func (x *transaction) Then(ctx context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) error {
	x.epoch = &epoch{StandIns: sinks.StandIns{On: x.sink.bad}, table: t, to: to}
	return classify(x.begin(ctx, from))
}

func (x *transaction) begin(ctx context.Context, from sinks.Position) error {
	var revision uint64
	err := x.tx.QueryRowContext(ctx, `SELECT revision, rows FROM statebridge_progress WHERE source = ? AND consumer = ?`,
		x.table.Source, x.table.Consumer).Scan(&revision, &x.rows)
	if err != nil {
		return fmt.Errorf("reading the progress of consumer %q: %w", x.table.Consumer, err)
	}
	if revision != from.Revision {
		return sinks.ErrFenced
	}
	var filled bool
	err = x.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+sqltable.Quote(x.table.Consumer)+")").Scan(&filled)
	if err != nil {
		return err
	}
	if !x.to.Full && x.rows > 0 && !filled {
		return sinks.ErrFenced // emptied since
	}
	if x.to.Full {
		x.rows = 0
		if _, err := x.tx.ExecContext(ctx, "DELETE FROM "+sqltable.Quote(x.table.Consumer)); err != nil {
			return err
		}
	}
	known, err := readProgress(ctx, x.tx, x.table)
	if err != nil {
		return err
	}
	have, err := readColumns(ctx, x.tx, x.table.Consumer)
	if err != nil {
		return err
	}
	var ignored []stream.Column
	x.table.Columns, ignored = x.sink.drift.Split(x.table.Columns, in(have))
	return x.prepare(ctx, known, ignored)
}

func (x *transaction) prepare(ctx context.Context, known managed, ignored []stream.Column) (err error) {
	all, keys, table := x.table.Columns, sqltable.Keys(x.table.Columns), sqltable.Quote(x.table.Consumer)
	insert := sqltable.Insert(table, all) + "VALUES (" + strings.TrimSuffix(strings.Repeat("?, ", len(all)), ", ") + ")"
	if !x.to.Full { // in a full epoch a key that comes twice is an error
		insert += sqltable.OnConflict(all, sqltable.Gone(known.columns, all))
	}
	if x.upsert, err = x.statement(ctx, insert, all, ignored...); err != nil {
		return err
	}
	var terms []string
	for _, k := range keys {
		terms = append(terms, sqltable.Quote(k.Name)+" = ?")
	}
	x.remove, err = x.statement(ctx, "DELETE FROM "+table+" WHERE "+strings.Join(terms, " AND "), keys)
	return err
}

func (x *transaction) statement(ctx context.Context, query string, columns []stream.Column, ignored ...stream.Column) (statement, error) {
	s, err := x.tx.PrepareContext(ctx, query)
	return statement{Stmt: s, columns: columns, scanner: row.NewScanner(columns, ignored...), args: make([]any, len(columns)), bad: &x.StandIns}, err
}

// Apply runs a statement for each change.
func (x *transaction) Apply(ctx context.Context, changes []stream.Change) error {
	return x.table.Each(ctx, changes, func(c stream.Change) error { return x.change(ctx, c) })
}

func (x *transaction) change(ctx context.Context, c stream.Change) error {
	run, object := &x.upsert, c.After
	if c.Op == 'd' {
		run, object = &x.remove, c.Key
	}
	if err := x.apply(ctx, run, object, c); err != nil {
		return err
	}
	switch c.Op {
	case 'd':
		x.rows--
	case 'r', 'c':
		x.rows++
	}
	return nil
}

func (x *transaction) apply(ctx context.Context, run *statement, object []byte, c stream.Change) error {
	if column, err := run.bind(object); err != nil {
		return sinks.Refuse(x.table, x.to, c, column, err.Error())
	}
	_, err := run.ExecContext(ctx, run.args...)
	if constraint(err) {
		reason := "it breaks a constraint of the table"
		if x.to.Full {
			reason = "its key is that of another row of the state, or it breaks a constraint of the table"
		}
		return sinks.Refuse(x.table, x.to, c, "", reason)
	}
	return classify(err)
}

// Finish writes the position.
func (x *transaction) Finish(ctx context.Context) error {
	at := x.to.Snapshot
	if x.to.Rows != nil { // also right where somebody else's rows were among those that were deleted
		x.rows = int64(*x.to.Rows)
	}
	_, err := x.tx.ExecContext(ctx, `UPDATE statebridge_progress SET chain = ?, epoch = ?, revision = revision + 1,
			job = ?, checkpoint_id = ?, location = ?, savepoint = ?, rows = ?, committed_at = strftime('%Y-%m-%dT%H:%M:%fZ')
		WHERE source = ? AND consumer = ?`,
		x.to.Chain, x.to.Number, at.Job, at.CheckpointID, at.Location, at.Savepoint, x.rows, x.table.Source, x.table.Consumer)
	return classify(err)
}

// Commit finishes the epoch at hand and ends the transaction.
func (x *transaction) Commit(ctx context.Context) error {
	if err := x.Finish(ctx); err != nil {
		return err
	}
	return classify(x.tx.Commit())
}

// Rollback gives up what is not committed.
func (x *transaction) Rollback(context.Context) error { return ignoreDone(x.tx.Rollback()) }
