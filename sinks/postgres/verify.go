package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

const expected = "pg_temp.statebridge_expected"

// verification stages rows as an epoch would and lets the server compare them, so that values are compared as the columns hold them. All of it is one
// transaction that sees the table as it was at the beginning, whatever others commit.
type verification struct {
	*transaction
	differ, keep, rest string
}

// Verify begins a comparison.
func (s *Sink) Verify(ctx context.Context, t sinks.Table, at sinks.Position, _ string) (sinks.Verification, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, classify(err)
	}
	v, err := s.verify(ctx, conn, t, at)
	if err != nil {
		err = errors.Join(classify(err), abandon(ctx, conn))
		conn.Release()
		return nil, err
	}
	return v, nil
}

func (s *Sink) verify(ctx context.Context, conn *pgxpool.Conn, t sinks.Table, at sinks.Position) (*verification, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, err
	}
	now, err := s.position(ctx, tx, t)
	if err != nil {
		return nil, err
	}
	if now != at {
		return nil, sinks.ErrFenced
	}
	have, err := readColumns(ctx, tx, s.name(t))
	if err != nil {
		return nil, err
	}
	v := &verification{transaction: &transaction{epoch: s.newEpoch(t, sinks.Stay(t, at, 0)), sink: s, conn: conn, tx: tx}}
	v.staged = true // by itself
	v.fit(have)
	if lacks := missing(have, v.table.Columns); len(lacks) > 0 {
		return nil, sinks.Permanent(fmt.Errorf("table %s lacks the columns %s", s.name(t), sqltable.List("", lacks)))
	}
	v.statements = write(s.name(t), v.encoders, nil)
	return v, v.begin(ctx)
}

// begin makes the tables and the statements. Each chunk is looked up by the table's index, lest all of the table is read for each.
func (v *verification) begin(ctx context.Context) error {
	table := v.sink.name(v.table)
	var keys, names, match, unequal, want, have, columns []string
	for i, e := range v.encoders {
		name, quoted := fmt.Sprintf("c%d", i), sqltable.Quote(e.Column.Name)
		columns = append(columns, "t."+quoted)
		if !e.Key {
			want, have = append(want, "s."+name), append(have, "t."+quoted)
			unequal = append(unequal, "CASE WHEN "+unlike("s."+name, "t."+quoted)+" THEN "+literal(e.Column.Name)+" END")
			continue
		}
		keys, names, match = append(keys, quoted+" AS "+name), append(names, name), append(match, "s."+name+" = t."+quoted)
	}
	key, same := v.encoders[v.firstKey()], strings.Join(match, " AND ")
	absent := "t." + sqltable.Quote(key.Column.Name) + " IS NULL"
	shown := "(SELECT row_to_json(r)::text FROM (SELECT " + strings.Join(columns, ", ") + ") r)"
	list, filter := "ARRAY[]::text[]", absent
	if len(unequal) > 0 {
		list = "array_remove(ARRAY[" + strings.Join(unequal, ", ") + "]::text[], NULL)"
		filter += " OR " + unlike(strings.Join(want, ", "), strings.Join(have, ", "))
	}
	v.differ = "SELECT s.n, " + absent + ", " + list + ", " + shown + " FROM " + staging + " s LEFT JOIN " + table + " t ON " + same + " WHERE " + filter + " ORDER BY s.n"
	v.keep = "INSERT INTO " + expected + " SELECT " + strings.Join(names, ", ") + " FROM " + staging
	v.rest = "SELECT " + v.keyJSON() + ", " + shown + " FROM " + table + " t WHERE NOT EXISTS (SELECT 1 FROM " + expected + " s WHERE " + same + ")"
	for _, statement := range []string{
		v.statements.stage,
		"CREATE TEMPORARY TABLE statebridge_expected ON COMMIT DROP AS SELECT " + strings.Join(keys, ", ") + " FROM " + table + " LIMIT 0",
		"SET LOCAL enable_hashjoin = off", "SET LOCAL enable_mergejoin = off",
	} {
		if _, err := v.tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// unlike compares values by their bytes: -0.0 is not 0.0, and json has no other way. Without the casts it would be the operator of the values.
func unlike(a, b string) string { return "ROW(" + a + ")::record *<> ROW(" + b + ")::record" }

func (v *verification) firstKey() int {
	for i, e := range v.encoders {
		if e.Key {
			return i
		}
	}
	return 0
}

// keyJSON builds the key of a row as a delete has it.
func (v *verification) keyJSON() string {
	var members []string
	for _, e := range v.encoders {
		value := "t." + sqltable.Quote(e.Column.Name)
		if e.kind == "bytea" {
			value = `replace(encode(` + value + `, 'base64'), E'\n', '')`
		}
		if e.Key {
			members = append(members, literal(e.Column.Name)+", "+value)
		}
	}
	return "json_build_object(" + strings.Join(members, ", ") + ")::text"
}

func literal(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// Expect stages the rows and asks which of them the table does not have like that.
func (v *verification) Expect(ctx context.Context, rows []stream.Change, tell func(sinks.Difference) error) error {
	if len(rows) == 0 {
		return nil
	}
	held, err := v.hold(ctx, rows, tell)
	if err != nil {
		return err
	}
	if _, err := v.tx.Exec(ctx, v.keep); err != nil {
		return classify(err)
	}
	found, err := v.tx.Query(ctx, v.differ)
	if err != nil {
		return classify(err)
	}
	defer found.Close()
	for found.Next() {
		var n int64
		var absent bool
		d := sinks.Difference{Kind: sinks.Different}
		if err := found.Scan(&n, &absent, &d.Columns, &d.Have); err != nil {
			return err
		}
		d.Key, d.Want = held[n-1].Key, held[n-1].After
		if absent {
			d.Kind, d.Columns, d.Have = sinks.Missing, nil, nil
		}
		if err := tell(d); err != nil {
			return err
		}
	}
	return classify(found.Err())
}

// hold stages the rows that the table can hold, gives them, and tells of the others.
func (v *verification) hold(ctx context.Context, rows []stream.Change, tell func(sinks.Difference) error) ([]stream.Change, error) {
	if _, err := v.tx.Exec(ctx, "SAVEPOINT rows"); err != nil {
		return nil, classify(err)
	}
	for unheld := map[int]bool{}; ; {
		if _, err := v.tx.Exec(ctx, "TRUNCATE "+staging); err != nil {
			return nil, classify(err)
		}
		held, at, err := v.copyAll(ctx, rows, unheld)
		if err == nil {
			_, err = v.tx.Exec(ctx, "RELEASE SAVEPOINT rows")
			for i := range unheld {
				err = cmp.Or(err, tell(sinks.Unheld(rows[i])))
			}
			return held, classify(err)
		}
		if at < 0 {
			return nil, v.explain(err)
		}
		unheld[at] = true // and the rest once more
		if _, err := v.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT rows"); err != nil {
			return nil, classify(err)
		}
	}
}

// copyAll stages rows, and notes those that can't be written. An error comes with the row that the server refuses, -1 when it is about none.
func (v *verification) copyAll(ctx context.Context, rows []stream.Change, unheld map[int]bool) (held []stream.Change, at int, err error) {
	var places []int
	v.copying = startCopy(ctx, v.tx.Conn().PgConn(), v.statements.copyStaged)
	defer func() { v.copying = nil }()
	for i := range rows {
		if unheld[i] {
			continue
		}
		if v.stage(rows[i]) != nil {
			unheld[i] = true
			continue
		}
		held, places = append(held, rows[i]), append(places, i)
		if err = v.copying.flush(chunk); err != nil {
			break
		}
	}
	if err == nil {
		if err = v.copying.flush(1); err == nil {
			err = v.copying.end()
		}
	}
	if e := refusal(err); e != nil {
		if line, _ := copyPlace(e); line > 0 && line <= int64(len(places)) {
			return nil, places[line-1], err
		}
	}
	return held, -1, err
}

// Rest reads the table for rows that were not expected.
func (v *verification) Rest(ctx context.Context, tell func(sinks.Difference) error) error {
	for _, statement := range []string{"ANALYZE " + expected, "SET LOCAL enable_hashjoin = on", "SET LOCAL enable_mergejoin = on"} {
		if _, err := v.tx.Exec(ctx, statement); err != nil {
			return classify(err)
		}
	}
	found, err := v.tx.Query(ctx, v.rest)
	if err != nil {
		return classify(err)
	}
	defer found.Close()
	for found.Next() {
		d := sinks.Difference{Kind: sinks.Extra}
		if err := found.Scan(&d.Key, &d.Have); err != nil {
			return err
		}
		if err := tell(d); err != nil {
			return err
		}
	}
	return classify(found.Err())
}

// Close ends the transaction; the temporary tables go with it.
func (v *verification) Close(ctx context.Context) error { return v.Rollback(ctx) }

// Mend puts rows right.
func (s *Sink) Mend(ctx context.Context, t sinks.Table, at sinks.Position, rows uint64, differences []sinks.Difference) error {
	return sinks.Mend(ctx, s, t, at, rows, differences)
}
