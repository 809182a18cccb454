package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// preflight names all that keeps a table from taking the rows. One of ours that has outlived its columns can be made anew.
func (s *Sink) preflight(ctx context.Context, tx pgx.Tx, t sinks.Table, ours bool) error {
	have, err := readColumns(ctx, tx, s.name(t))
	if err != nil {
		return err
	}
	faults := columnFaults(have, t.Columns)
	unique, err := s.hasUniqueKey(ctx, tx, t)
	if err != nil {
		return err
	}
	if !unique {
		faults = append(faults, fmt.Errorf("no primary key or unique index on exactly the key columns (%s)", sqltable.List("", sqltable.Keys(t.Columns))))
	}
	if ours && len(faults) > 0 {
		faults = append(faults, sqltable.Remake(s.name(t)))
	}
	lacks, err := s.missingRights(ctx, tx, t)
	if err != nil {
		return err
	}
	faults = append(faults, lacks...)
	for i, f := range faults {
		faults[i] = fmt.Errorf("table %s: %w", s.name(t), f)
	}
	return sinks.Permanent(errors.Join(faults...))
}

func columnFaults(have map[string]column, want []stream.Column) (faults []error) {
	mapped := map[string]bool{}
	for _, c := range want {
		h, ok := have[c.Name]
		mapped[c.Name] = true
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("column %q is missing (%s)", c.Name, native(c.Type)))
		case h.always:
			faults = append(faults, fmt.Errorf("column %q is GENERATED ALWAYS and can't be written", c.Name))
		case !holds(h.kind, c):
			faults = append(faults, fmt.Errorf("column %q is %s, which can't hold %s (%s or text can)", c.Name, h.kind, c.Type, native(c.Type)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if h := have[name]; h.required && !h.filled && !h.always && !mapped[name] {
			faults = append(faults, fmt.Errorf("column %q is NOT NULL without a default and gets no value", name))
		}
	}
	return faults
}

// hasUniqueKey looks for an index that ON CONFLICT can take: unique, valid, immediate, not partial, on plain columns, these and no other.
func (s *Sink) hasUniqueKey(ctx context.Context, tx pgx.Tx, t sinks.Table) (found bool, err error) {
	var names []string
	for _, k := range sqltable.Keys(t.Columns) {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_index i
		WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
		AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C") FROM pg_attribute a
			WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) = $2::text[])`, s.name(t), names).Scan(&found)
	return found, err
}

func (s *Sink) missingRights(ctx context.Context, tx pgx.Tx, t sinks.Table) (faults []error, err error) {
	var kind string
	if err := tx.QueryRow(ctx, `SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)`, s.name(t)).Scan(&kind); err != nil {
		return nil, err
	}
	if kind != "r" && kind != "p" {
		return []error{errors.New("it is no table")}, nil
	}
	for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
		var has bool
		if err := tx.QueryRow(ctx, `SELECT has_table_privilege(to_regclass($1), $2)`, s.name(t), right).Scan(&has); err != nil {
			return nil, err
		}
		if !has {
			faults = append(faults, fmt.Errorf("the right to %s is missing", right))
		}
	}
	var temporary bool
	if err := tx.QueryRow(ctx, `SELECT has_database_privilege(current_database(), 'TEMPORARY')`).Scan(&temporary); err != nil {
		return nil, err
	}
	if !temporary {
		faults = append(faults, errors.New("the right to make TEMPORARY tables in the database is missing"))
	}
	return faults, nil
}
