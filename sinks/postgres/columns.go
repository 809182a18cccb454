package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/stream"
)

// column is one that the table has.
type column struct {
	name     string
	kind     string // without modifier: "numeric"
	scale    int    // digits after the point, or of a second; -1 where the type sets no bound
	whole    int    // digits before the point of a numeric
	length   int    // of a varchar; -1 where there is none
	required bool   // NOT NULL
	filled   bool   // has a default, or fills itself
	always   bool   // GENERATED ALWAYS: can't be written
}

// The modifier of a numeric packs precision and an 11-bit signed scale; that of a time type is its digits; a varchar's is length + 4.
const selectColumns = `SELECT a.attname, format_type(a.atttypid, NULL),
		CASE WHEN a.atttypid = 'numeric'::regtype AND a.atttypmod >= 4 THEN (((a.atttypmod - 4) & 2047) # 1024) - 1024
			WHEN a.atttypid IN ('time'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) THEN CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END
			ELSE -1 END,
		CASE WHEN a.atttypid = 'numeric'::regtype AND a.atttypmod >= 4
			THEN (((a.atttypmod - 4) >> 16) & 65535) - ((((a.atttypmod - 4) & 2047) # 1024) - 1024) ELSE 131072 END,
		CASE WHEN a.atttypid = 'varchar'::regtype AND a.atttypmod >= 4 THEN a.atttypmod - 4 ELSE -1 END,
		a.attnotnull, a.atthasdef OR a.attidentity <> '', a.attidentity = 'a' OR a.attgenerated <> ''
	FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

func readColumns(ctx context.Context, tx pgx.Tx, table string) (map[string]column, error) {
	rows, err := tx.Query(ctx, selectColumns, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]column{}
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.scale, &c.whole, &c.length, &c.required, &c.filled, &c.always); err != nil {
			return nil, err
		}
		found[c.name] = c
	}
	return found, rows.Err()
}

// grown gives the columns that the table has too narrow.
func grown(have map[string]column, want []stream.Column) (wide []stream.Column) {
	for _, c := range want {
		if h, ok := have[c.Name]; ok && widens(h.kind, c.Type) {
			wide = append(wide, c)
		}
	}
	return wide
}

// in tells whether the table has a column.
func in(have map[string]column) func(stream.Column) bool {
	return func(c stream.Column) bool { _, ok := have[c.Name]; return ok }
}

// missing gives the columns that the table lacks.
func missing(have map[string]column, want []stream.Column) (lacks []stream.Column) {
	for _, c := range want {
		if _, ok := have[c.Name]; !ok {
			lacks = append(lacks, c)
		}
	}
	return lacks
}
