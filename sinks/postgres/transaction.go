package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// transaction applies epochs, one after the other; all become visible at once.
type transaction struct {
	*epoch
	sink *Sink
	conn *pgxpool.Conn // nil once given back
	tx   pgx.Tx

	written []string // names of the tables before that of the epoch at hand
}

// epoch is the one at hand: it is staged, and turned into two statements at the end.
type epoch struct {
	sinks.StandIns
	table sinks.Table
	to    stream.Epoch

	statements statements
	direct     bool // a full epoch into an empty table is copied without staging
	staged     bool // there is a table for it
	how        care
	careful    *careful // nil where how is swift
	rows       int64
	upserts    int64
	deletes    int64

	encoders []encoder
	all      *jsonscan.Columns
	keys     *jsonscan.Columns
	keyed    []int // where the key columns stand among all
	values   [][]byte
	copying  *copying
	longest  longKey
}

// longKey remembers the row whose key an index is least likely to take.
type longKey struct {
	size   int
	change stream.Change
}

// suspect is a key length, in bytes of JSON, below which no index of PostgreSQL refuses a row.
const suspect = 2000

// Begin locks the progress row and compares the position with the one that was seen.
func (s *Sink) Begin(ctx context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) (sinks.Transaction, error) {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	x := &transaction{sink: s, conn: conn, tx: tx}
	if err := x.Then(ctx, t, from, to); err != nil {
		return nil, errors.Join(err, x.Rollback(ctx))
	}
	return x, nil
}

func (s *Sink) newEpoch(t sinks.Table, to stream.Epoch) *epoch {
	return &epoch{StandIns: sinks.StandIns{On: s.bad}, table: t, to: to}
}

// Then begins an epoch.
func (x *transaction) Then(ctx context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) error {
	if x.epoch != nil && x.staged {
		if _, err := x.tx.Exec(ctx, "DROP TABLE "+staging); err != nil {
			return classify(err)
		}
	}
	if x.epoch != nil {
		x.written = append(x.written, x.sink.name(x.table))
	}
	x.epoch = x.sink.newEpoch(t, to)
	return classify(x.begin(ctx, from))
}

func (x *transaction) begin(ctx context.Context, from sinks.Position) error {
	var revision uint64
	var written []string
	err := x.tx.QueryRow(ctx, `SELECT revision, rows, columns FROM statebridge.progress WHERE source = $1 AND consumer = $2 AND target = $3 FOR UPDATE`,
		x.table.Source, x.table.Consumer, x.sink.name(x.table)).Scan(&revision, &x.rows, &written)
	if err != nil {
		return fmt.Errorf("reading the progress of consumer %q: %w", x.table.Consumer, err)
	}
	if revision != from.Revision {
		return sinks.ErrFenced
	}
	if err := x.takeCare(ctx); err != nil {
		return err
	}
	have, err := readColumns(ctx, x.tx, x.sink.name(x.table))
	if err != nil {
		return err
	}
	x.fit(have)
	x.statements = write(x.sink.name(x.table), x.encoders, sqltable.Gone(written, x.table.Columns))
	var filled bool
	if err := x.tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+x.sink.name(x.table)+`)`).Scan(&filled); err != nil {
		return err
	}
	switch {
	case x.to.Full:
		x.rows, x.direct = 0, !filled && x.careful == nil
	case x.rows > 0 && !filled:
		return sinks.ErrFenced // emptied since
	}
	return nil
}

// stageOnce makes the staging table when it is needed.
func (x *transaction) stageOnce(ctx context.Context) error {
	if x.direct || x.staged {
		return nil
	}
	x.staged = true
	_, err := x.tx.Exec(ctx, x.staging())
	return err
}

// takeCare says how the epoch is applied.
func (x *transaction) takeCare(ctx context.Context) error {
	if x.how = x.sink.cares.of(x.sink.name(x.table)); x.how == swift {
		return nil
	}
	x.careful = &careful{transaction: x}
	if x.how < atOnce {
		return nil
	}
	_, err := x.tx.Exec(ctx, "SET CONSTRAINTS ALL IMMEDIATE")
	if e := refusal(err); e != nil { // of a table that was written before
		return x.againAtOnce(e)
	}
	return err
}

func (x *transaction) staging() string {
	if x.careful != nil {
		return x.statements.stageCareful
	}
	return x.statements.stage
}

// fit makes what writes the columns that the table is to take.
func (x *transaction) fit(have map[string]column) {
	kept, ignored := x.sink.drift.Split(x.table.Columns, in(have))
	x.table.Columns = kept
	x.encoders, x.values = encoders(have, kept), make([][]byte, len(kept))
	x.all, x.keys = row.NewScanner(kept, ignored...), row.NewScanner(sqltable.Keys(kept))
	for i, c := range kept {
		if c.Key {
			x.keyed = append(x.keyed, i)
		}
	}
}

// Apply writes changes to the COPY under way.
func (x *transaction) Apply(ctx context.Context, changes []stream.Change) error {
	if len(changes) > 0 {
		if err := x.stageOnce(ctx); err != nil {
			return classify(err)
		}
	}
	if x.careful != nil {
		return classify(x.careful.apply(ctx, changes))
	}
	if x.copying == nil && len(changes) > 0 {
		statement := x.statements.copyStaged
		if x.direct {
			statement = x.statements.copyDirect
		}
		x.copying = startCopy(ctx, x.tx.Conn().PgConn(), statement)
	}
	for i := range changes {
		if err := x.table.Each(ctx, changes[i:i+1], x.stage); err != nil {
			return err
		}
		if err := x.copying.flush(chunk); err != nil { // of what the server refuses, no row can be left out any more
			return x.explain(err)
		}
	}
	return nil
}

func (x *transaction) stage(c stream.Change) error {
	text, err := x.line(x.copying.text, c)
	if err != nil {
		return err
	}
	x.copying.note(c)
	x.count(c, 1)
	if !x.direct {
		text = strconv.AppendInt(append(text, '\t'), x.copying.lines, 10)
		text = append(text, '\t', goneFlag(c))
	}
	text = append(text, '\n')
	x.copying.text = text
	return nil
}

// line writes the columns of a change.
func (x *transaction) line(text []byte, c stream.Change) (_ []byte, err error) {
	if err := x.scan(c); err != nil {
		return nil, sinks.Refuse(x.table, x.to, c, "", err.Error())
	}
	size := 0
	for i := range x.encoders {
		if i > 0 {
			text = append(text, '\t')
		}
		if e := &x.encoders[i]; c.Op == 'd' && !e.Key {
			text = append(text, `\N`...)
		} else {
			text, err = x.encode(text, e, x.values[i])
		}
		if err != nil {
			return nil, sinks.Refuse(x.table, x.to, c, x.encoders[i].Column.Name, err.Error())
		}
		if x.encoders[i].Key {
			size += len(x.values[i])
		}
	}
	if size > max(suspect, x.longest.size) {
		x.longest = longKey{size: size, change: stream.Change{Partition: c.Partition, Seq: c.Seq}}
	}
	return text, nil
}

// encode writes a value, or what stands in for it until that fits.
func (x *transaction) encode(dst []byte, e *encoder, value []byte) ([]byte, error) {
	text, first := e.append(dst, value)
	for err := first; err != nil; {
		instead, ok := x.Instead(e.Column, value, err)
		if !ok {
			return dst, first
		}
		value = instead
		text, err = e.append(dst, value)
	}
	return text, nil
}

// count counts a change, or takes it back.
func (x *transaction) count(c stream.Change, by int64) {
	switch c.Op {
	case 'd':
		x.deletes += by
		x.rows -= by
	case 'r', 'c':
		x.rows += by
		x.upserts += by
	default:
		x.upserts += by
	}
}

// goneFlag says whether the row is gone.
func goneFlag(c stream.Change) byte {
	if c.Op == 'd' {
		return 't'
	}
	return 'f'
}

// scan puts a change's values in the order of the columns; a deleted row has those of its key.
func (x *transaction) scan(c stream.Change) error {
	if c.Op != 'd' {
		values, err := x.all.Scan(c.After)
		copy(x.values, values)
		return err
	}
	values, err := x.keys.Scan(c.Key)
	clear(x.values)
	for i, v := range values {
		x.values[x.keyed[i]] = v
	}
	return err
}

// Finish turns what is staged into rows and moves the position.
func (x *transaction) Finish(ctx context.Context) error {
	if err := x.makeRows(ctx); err != nil {
		return x.explain(err)
	}
	return classify(x.advance(ctx))
}

// Commit finishes the epoch at hand and ends the transaction.
func (x *transaction) Commit(ctx context.Context) error {
	if err := x.Finish(ctx); err != nil {
		return err
	}
	if err := x.tx.Commit(ctx); err != nil {
		return x.explainCommit(err)
	}
	x.conn.Release()
	x.conn = nil
	return nil
}

// makeRows ends the COPY and turns what is staged into rows.
func (x *transaction) makeRows(ctx context.Context) error {
	if x.copying != nil {
		if err := x.copying.flush(1); err != nil {
			return err
		}
		if err := x.copying.end(); err != nil {
			return err
		}
	}
	return x.merge(ctx)
}

func (x *transaction) merge(ctx context.Context) error {
	if x.direct || !x.to.Full && !x.staged { // the latter has no changes
		return nil
	}
	if err := x.stageOnce(ctx); err != nil { // every row goes
		return err
	}
	if x.careful != nil {
		return x.careful.finish(ctx)
	}
	remove, upsert := x.statements.deleteGone, x.statements.upsertNet
	if x.to.Full {
		remove, upsert = x.statements.deleteOthers, x.statements.upsertAll
	}
	if x.to.Full || x.upserts+x.deletes > 10_000 {
		if _, err := x.tx.Exec(ctx, x.statements.analyze); err != nil {
			return err
		}
	}
	if x.to.Full || x.deletes > 0 {
		if _, err := x.tx.Exec(ctx, remove); err != nil {
			return err
		}
	}
	if x.upserts == 0 {
		return nil
	}
	done, err := x.tx.Exec(ctx, upsert)
	if err == nil && x.statements.merges && done.RowsAffected() < x.upserts {
		err = x.twice("")
	}
	return err
}

// twice: two rows of the state would be one here.
func (x *transaction) twice(detail string) error {
	return sinks.Permanent(fmt.Errorf("consumer %q, epoch %d: two rows of the state have the same key%s in table %s",
		x.table.Consumer, x.to.Number, detail, x.sink.name(x.table)))
}

func (x *transaction) advance(ctx context.Context) error {
	at := x.to.Snapshot
	if x.to.Rows != nil { // also right where somebody else's rows were among those that were deleted
		x.rows = int64(*x.to.Rows)
		if x.careful != nil {
			x.rows -= min(x.rows, x.careful.late)
		}
	}
	_, err := x.tx.Exec(ctx, `UPDATE statebridge.progress SET chain = $4, epoch = $5, revision = revision + 1,
			job = $6, checkpoint_id = $7, location = $8, savepoint = $9, rows = $10, committed_at = clock_timestamp()
		WHERE source = $1 AND consumer = $2 AND target = $3`,
		x.table.Source, x.table.Consumer, x.sink.name(x.table), x.to.Chain, int64(x.to.Number),
		at.Job, at.CheckpointID, at.Location, at.Savepoint, x.rows)
	return err
}

// Rollback closes the connection, which ends the transaction wherever it stands.
func (x *transaction) Rollback(ctx context.Context) error {
	if x.conn == nil {
		return nil
	}
	if x.copying != nil {
		x.copying.abort()
	}
	err := abandon(ctx, x.conn)
	x.conn.Release()
	x.conn = nil
	return err
}
