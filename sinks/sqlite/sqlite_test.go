package sqlite_test

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/sinks/sqltable"
)

func open(t testing.TB, path string) *sqlite.Sink {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reader(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, path, query string) {
	t.Helper()
	if _, err := reader(t, path).ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// read prints what is stored, by its storage class.
func read(t testing.TB, path string, table sinks.Table) (found []map[string]string) {
	t.Helper()
	rows, err := reader(t, path).QueryContext(t.Context(), "SELECT * FROM "+sqltable.Quote(table.Consumer))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, pointers := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		r := map[string]string{}
		for i, name := range names {
			switch v := values[i].(type) {
			case nil:
			case []byte:
				r[name] = base64.StdEncoding.EncodeToString(v)
			case float64:
				r[name] = strconv.FormatFloat(v, 'g', -1, 64)
			default:
				r[name] = fmt.Sprint(v)
			}
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestConformance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?%#name.db")
	plain := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	sinktest.Run(t, sinktest.Target{
		Open: func(t testing.TB) sinks.Sink { return open(t, path) },
		Drift: func(t testing.TB, d sinks.Drift) sinks.Sink {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{SchemaDrift: d})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Bad: func(t testing.TB, b sinks.BadValue) sinks.Sink {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{BadValue: b})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Read: func(t testing.TB, table sinks.Table) []map[string]string { return read(t, plain, table) },
		Wipe: func(t testing.TB, table sinks.Table) { exec(t, plain, "DROP TABLE "+sqltable.Quote(table.Consumer)) },
		Lose: map[string]func(testing.TB, sinks.Table){
			"emptied": func(t testing.TB, table sinks.Table) { exec(t, plain, "DELETE FROM "+sqltable.Quote(table.Consumer)) },
			"dropped": func(t testing.TB, table sinks.Table) { exec(t, plain, "DROP TABLE "+sqltable.Quote(table.Consumer)) },
			"position": func(t testing.TB, table sinks.Table) {
				exec(t, plain, "DELETE FROM statebridge_progress WHERE consumer = '"+table.Consumer+"'")
			},
		},
		Whole: true,
	})
}
