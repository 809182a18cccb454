package sqlite

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// verification looks each row up, in a transaction that sees the table as it was at the beginning. The keys are noted in a temporary table.
type verification struct {
	conn  *sql.Conn
	drift sinks.Drift
	bad   sinks.StandIns
	table sinks.Table
	equal statement // looks up a row: whether each column is as bound, then what it holds
	keep  statement // notes a key
}

// Verify begins a comparison.
func (s *Sink) Verify(ctx context.Context, t sinks.Table, at sinks.Position, _ string) (sinks.Verification, error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, classify(err)
	}
	v := &verification{conn: conn, drift: s.drift, bad: sinks.StandIns{On: s.bad}, table: t}
	if err := v.begin(ctx, at); err != nil {
		return nil, errors.Join(classify(err), v.Close(ctx))
	}
	return v, nil
}

func (v *verification) begin(ctx context.Context, at sinks.Position) error {
	if _, err := v.conn.ExecContext(ctx, "BEGIN"); err != nil { // deferred: it holds nobody up
		return err
	}
	var now sinks.Position
	var rows int64
	err := v.conn.QueryRowContext(ctx, selectPosition, v.table.Source, v.table.Consumer).Scan(
		&now.Chain, &now.Epoch, &now.Revision, &now.Snapshot.Job, &now.Snapshot.CheckpointID, &now.Snapshot.Location, &now.Snapshot.Savepoint, &rows)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if now != at {
		return sinks.ErrFenced
	}
	have, err := readColumns(ctx, v.conn, v.table.Consumer)
	if err != nil {
		return err
	}
	var ignored []stream.Column
	v.table.Columns, ignored = v.drift.Split(v.table.Columns, in(have))
	all, keys, table := v.table.Columns, sqltable.Keys(v.table.Columns), sqltable.Quote(v.table.Consumer)
	var equal, match []string
	for i, c := range all {
		equal = append(equal, fmt.Sprintf("%s IS ?%d", sqltable.Quote(c.Name), i+1))
		if c.Key {
			match = append(match, fmt.Sprintf("%s = ?%d", sqltable.Quote(c.Name), i+1))
		}
	}
	if _, err := v.conn.ExecContext(ctx, "CREATE TEMPORARY TABLE statebridge_expected AS SELECT "+sqltable.List("", keys)+" FROM main."+table+" LIMIT 0"); err != nil {
		return err
	}
	query := "SELECT " + strings.Join(equal, ", ") + ", " + sqltable.List("", all) + " FROM main." + table + " WHERE " + strings.Join(match, " AND ")
	if v.equal, err = v.prepare(ctx, query, all, ignored...); err != nil {
		return err
	}
	v.keep, err = v.prepare(ctx, "INSERT INTO temp.statebridge_expected VALUES ("+strings.TrimSuffix(strings.Repeat("?, ", len(keys)), ", ")+")", keys)
	return err
}

func (v *verification) prepare(ctx context.Context, query string, columns []stream.Column, ignored ...stream.Column) (statement, error) {
	s, err := v.conn.PrepareContext(ctx, query)
	return statement{Stmt: s, columns: columns, scanner: row.NewScanner(columns, ignored...), args: make([]any, len(columns)), bad: &v.bad}, err
}

// Expect looks up each row.
func (v *verification) Expect(ctx context.Context, rows []stream.Change, tell func(sinks.Difference) error) error {
	for _, c := range rows {
		_, unfit := v.equal.bind(c.After)
		if unfit == nil {
			_, unfit = v.keep.bind(c.Key)
		}
		if unfit != nil {
			if err := tell(sinks.Unheld(c)); err != nil {
				return err
			}
			continue
		}
		if _, err := v.keep.ExecContext(ctx, v.keep.args...); err != nil {
			return classify(err)
		}
		d, differs, err := v.compare(ctx)
		if err != nil {
			return classify(err)
		}
		if !differs {
			continue
		}
		d.Key, d.Want = c.Key, c.After
		if err := tell(d); err != nil {
			return err
		}
	}
	return nil
}

// compare looks up the row that is bound.
func (v *verification) compare(ctx context.Context) (d sinks.Difference, differs bool, err error) {
	n := len(v.table.Columns)
	equal, values := make([]bool, n), make([]any, n)
	into := make([]any, 0, 2*n)
	for i := range equal {
		into = append(into, &equal[i])
	}
	for i := range values {
		into = append(into, &values[i])
	}
	switch err := v.equal.QueryRowContext(ctx, v.equal.args...).Scan(into...); {
	case errors.Is(err, sql.ErrNoRows):
		return sinks.Difference{Kind: sinks.Missing}, true, nil
	case err != nil:
		return d, false, err
	}
	for i, same := range equal {
		if !same || !sameClass(v.equal.args[i], values[i]) {
			d.Columns = append(d.Columns, v.table.Columns[i].Name)
		}
	}
	if d.Columns == nil {
		return d, false, nil
	}
	d.Kind = sinks.Different
	d.Have, err = object(v.table.Columns, values)
	return d, true, err
}

// sameClass tells what IS does not: zero from minus zero.
func sameClass(want, have any) bool {
	a, isFloat := want.(float64)
	b, too := have.(float64)
	return !isFloat || !too || a != 0 || (1/a > 0) == (1/b > 0)
}

// object shows values as a row's JSON has them.
func object(columns []stream.Column, values []any) ([]byte, error) {
	dst := []byte{'{'}
	for i, c := range columns {
		value := values[i]
		switch v := value.(type) {
		case []byte:
			value = base64.StdEncoding.EncodeToString(v)
		case string:
			if c.Type == "json" && json.Valid([]byte(v)) {
				value = json.RawMessage(v)
			}
		case int64:
			if c.Type == "bool" {
				value = v != 0
			}
		case float64:
			if !slices.Contains([]string{"float32", "float64"}, c.Type) || v-v != 0 { // JSON has no infinity
				value = fmt.Sprint(v)
			}
		}
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, name...), ':'), text...)
	}
	return append(dst, '}'), nil
}

// Rest reads the table for rows whose key was not noted.
func (v *verification) Rest(ctx context.Context, tell func(sinks.Difference) error) error {
	all, keys, table := v.table.Columns, sqltable.Keys(v.table.Columns), sqltable.Quote(v.table.Consumer)
	if _, err := v.conn.ExecContext(ctx, "CREATE INDEX temp.statebridge_expected_key ON statebridge_expected ("+sqltable.List("", keys)+")"); err != nil {
		return classify(err)
	}
	found, err := v.conn.QueryContext(ctx, "SELECT "+sqltable.List("t.", all)+" FROM main."+table+" t WHERE NOT EXISTS (SELECT 1 FROM temp.statebridge_expected s WHERE "+
		sqltable.SameKey("s", "t", all)+")")
	if err != nil {
		return classify(err)
	}
	defer found.Close()
	values, into := make([]any, len(all)), make([]any, len(all))
	for i := range values {
		into[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return classify(err)
		}
		if err := v.extra(values, tell); err != nil {
			return err
		}
	}
	return classify(found.Err())
}

func (v *verification) extra(values []any, tell func(sinks.Difference) error) (err error) {
	d := sinks.Difference{Kind: sinks.Extra}
	if d.Have, err = object(v.table.Columns, values); err != nil {
		return err
	}
	var key []any
	for i, c := range v.table.Columns {
		if c.Key {
			key = append(key, values[i])
		}
	}
	if d.Key, err = object(sqltable.Keys(v.table.Columns), key); err != nil {
		return err
	}
	return tell(d)
}

// Close ends the transaction and gives the connection back without what was temporary.
func (v *verification) Close(ctx context.Context) error {
	var errs []error
	for _, s := range []statement{v.equal, v.keep} {
		if s.Stmt != nil {
			errs = append(errs, s.Close())
		}
	}
	_, err := v.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // the temporary table was made in it
	return errors.Join(append(errs, err, v.conn.Close())...)
}

// Mend puts rows right.
func (s *Sink) Mend(ctx context.Context, t sinks.Table, at sinks.Position, rows uint64, differences []sinks.Difference) error {
	return sinks.Mend(ctx, s, t, at, rows, differences)
}
