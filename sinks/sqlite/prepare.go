package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// Prepare creates the table, or widens the one that it once created, or checks one that somebody else did.
func (s *Sink) Prepare(ctx context.Context, t sinks.Table) (err error) {
	if err := sqltable.Check(t); err != nil {
		return err
	}
	for i, c := range t.Columns {
		if k := slices.IndexFunc(t.Columns, func(o stream.Column) bool { return strings.EqualFold(o.Name, c.Name) }); k < i {
			return sinks.Permanent(fmt.Errorf("table %q: SQLite can't tell the columns %q and %q apart", t.Consumer, t.Columns[k].Name, c.Name))
		}
	}
	if strings.HasPrefix(strings.ToLower(t.Consumer), "sqlite_") || strings.EqualFold(t.Consumer, "statebridge_progress") {
		return sinks.Permanent(fmt.Errorf("table %q: SQLite or Statebridge keeps this name for itself", t.Consumer))
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(classify(err), ignoreDone(tx.Rollback()))
		}
	}()
	if _, err := tx.ExecContext(ctx, createProgress); err != nil {
		return err
	}
	if err := prepareTable(ctx, tx, t, s.drift); err != nil {
		return err
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func prepareTable(ctx context.Context, tx *sql.Tx, t sinks.Table, drift sinks.Drift) error {
	have, err := readColumns(ctx, tx, t.Consumer)
	if err != nil {
		return err
	}
	if len(have) > 0 {
		if err := alone(ctx, tx, t); err != nil {
			return err
		}
	}
	known, err := readProgress(ctx, tx, t)
	if err != nil {
		return err
	}
	switch {
	case len(have) == 0:
		known = managed{created: true} // columns of a table that was dropped are gone with it
		_, err = tx.ExecContext(ctx, createTable(t))
	case known.created && drift.Changes():
		err = widen(ctx, tx, t, have)
	case known.created:
		err = drift.Check(t, missing(have, t.Columns), nil) // a type does not say here how long a number is
	}
	if len(have) > 0 {
		t.Columns, _ = drift.Split(t.Columns, in(have))
	}
	if err == nil && len(have) > 0 {
		err = preflight(ctx, tx, t, known.created)
	}
	if err != nil {
		return err
	}
	for _, c := range t.Columns {
		if !slices.Contains(known.columns, c.Name) {
			known.columns = append(known.columns, c.Name)
		}
	}
	names, err := json.Marshal(known.columns)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO statebridge_progress (source, consumer, created, columns) VALUES (?, ?, ?, ?)
		ON CONFLICT (source, consumer) DO UPDATE SET created = excluded.created, columns = excluded.columns`,
		t.Source, t.Consumer, known.created, string(names))
	return err
}

// alone refuses a table that another source feeds: each would delete the other's rows.
func alone(ctx context.Context, tx *sql.Tx, t sinks.Table) error {
	var source string
	err := tx.QueryRowContext(ctx, `SELECT source FROM statebridge_progress WHERE lower(consumer) = lower(?) AND (source, consumer) <> (?, ?)`,
		t.Consumer, t.Source, t.Consumer).Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return sinks.Permanent(fmt.Errorf("table %q is fed from source %q already (SQLite does not tell upper from lower case in names); if that one is gone for good, delete its row from statebridge_progress", t.Consumer, source))
}

// managed is what the progress row says of the table itself.
type managed struct {
	created bool     // by Statebridge, which may then widen it
	columns []string // that Statebridge has ever written
}

func readProgress(ctx context.Context, tx *sql.Tx, t sinks.Table) (m managed, err error) {
	var names string
	err = tx.QueryRowContext(ctx, `SELECT created, columns FROM statebridge_progress WHERE source = ? AND consumer = ?`,
		t.Source, t.Consumer).Scan(&m.created, &names)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal([]byte(names), &m.columns)
}

func createTable(t sinks.Table) string {
	var parts []string
	for _, c := range t.Columns {
		part := strings.TrimSpace(sqltable.Quote(c.Name) + " " + affinity(c.Type))
		if c.Key {
			part += " NOT NULL"
		}
		parts = append(parts, part)
	}
	parts = append(parts, "PRIMARY KEY ("+sqltable.List("", sqltable.Keys(t.Columns))+")")
	return "CREATE TABLE " + sqltable.Quote(t.Consumer) + " (" + strings.Join(parts, ", ") + ")"
}

// affinity is the declared type of a column.
func affinity(logical string) string {
	switch logical {
	case "bool", "int8", "int16", "int32", "int64":
		return "INTEGER"
	case "float32", "float64":
		return "" // REAL would store -0.0 as the integer 0
	case "bytes":
		return "BLOB"
	}
	return "TEXT"
}

func widen(ctx context.Context, tx *sql.Tx, t sinks.Table, have []column) error {
	for _, c := range missing(have, t.Columns) {
		if c.Key { // a new key column is no growth; preflight names it
			continue
		}
		add := "ALTER TABLE " + sqltable.Quote(t.Consumer) + " ADD COLUMN " + sqltable.Quote(c.Name) + " " + affinity(c.Type)
		if _, err := tx.ExecContext(ctx, add); err != nil {
			return fmt.Errorf("adding column %q to table %q: %w", c.Name, t.Consumer, err)
		}
	}
	return nil
}

// missing gives the columns that the table lacks.
func missing(have []column, want []stream.Column) (lacks []stream.Column) {
	for _, c := range want {
		if !in(have)(c) {
			lacks = append(lacks, c)
		}
	}
	return lacks
}

// in tells whether the table has a column.
func in(have []column) func(stream.Column) bool {
	return func(c stream.Column) bool {
		return slices.ContainsFunc(have, func(h column) bool { return strings.EqualFold(h.name, c.Name) })
	}
}

// column is one that the table has.
type column struct {
	name, kind string
	required   bool // NOT NULL without a default
	generated  bool
}

// querier is a transaction or a connection.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readColumns(ctx context.Context, tx querier, table string) (found []column, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, upper(type), "notnull" AND dflt_value IS NULL, hidden > 1 FROM pragma_table_xinfo(?)`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.required, &c.generated); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

// preflight names all that keeps an existing table from taking the rows. One of ours that has outlived its columns can be made anew.
func preflight(ctx context.Context, tx *sql.Tx, t sinks.Table, ours bool) error {
	have, err := readColumns(ctx, tx, t.Consumer)
	if err != nil {
		return err
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("table %q: "+format, append([]any{t.Consumer}, args...)...))
	}
	for _, c := range t.Columns {
		i := slices.IndexFunc(have, func(h column) bool { return strings.EqualFold(h.name, c.Name) })
		switch {
		case i < 0:
			fault("column %q is missing", c.Name)
		case have[i].generated:
			fault("column %q is generated and can't be written", c.Name)
		case !holds(have[i].kind, c.Type):
			fault("column %q is %s, which can't hold %s exactly (%s can)", c.Name, have[i].kind, c.Type, cmp.Or(affinity(c.Type), "REAL"))
		}
	}
	for _, h := range have {
		if h.required && !slices.ContainsFunc(t.Columns, func(c stream.Column) bool { return strings.EqualFold(c.Name, h.name) }) {
			fault("column %q is NOT NULL without a default and gets no value", h.name)
		}
	}
	unique, err := hasUniqueKey(ctx, tx, t)
	if err != nil {
		return err
	}
	if !unique {
		fault("no primary key or unique index on exactly the key columns (%s)", sqltable.List("", sqltable.Keys(t.Columns)))
	}
	if ours && len(faults) > 0 {
		fault("%w", sqltable.Remake(sqltable.Quote(t.Consumer)))
	}
	return sinks.Permanent(errors.Join(faults...))
}

// holds follows SQLite's affinity rules: TEXT and BLOB columns keep what they are given, a number column may convert it.
func holds(declared, logical string) bool {
	switch {
	case strings.Contains(declared, "INT"):
		return affinity(logical) == "INTEGER"
	case strings.Contains(declared, "CHAR"), strings.Contains(declared, "CLOB"), strings.Contains(declared, "TEXT"):
		return true
	case strings.Contains(declared, "BLOB"), declared == "":
		return true
	case strings.Contains(declared, "REAL"), strings.Contains(declared, "FLOA"), strings.Contains(declared, "DOUB"):
		return strings.HasPrefix(logical, "float")
	}
	return affinity(logical) == "INTEGER" // NUMERIC
}

func hasUniqueKey(ctx context.Context, tx *sql.Tx, t sinks.Table) (bool, error) {
	var names []string
	for _, k := range sqltable.Keys(t.Columns) {
		names = append(names, strings.ToLower(k.Name))
	}
	slices.Sort(names)
	want, err := json.Marshal(names)
	if err != nil {
		return false, err
	}
	var found bool
	err = tx.QueryRowContext(ctx, `WITH keys (columns) AS (
			SELECT (SELECT json_group_array(n) FROM (SELECT lower(name) AS n FROM pragma_index_info(i.name) ORDER BY n))
			FROM pragma_index_list(?1) AS i WHERE i."unique" AND NOT i.partial
			UNION ALL
			SELECT json_group_array(n) FROM (SELECT lower(name) AS n FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY n))
		SELECT EXISTS (SELECT 1 FROM keys WHERE columns = ?2)`, t.Consumer, string(want)).Scan(&found)
	return found, err
}
