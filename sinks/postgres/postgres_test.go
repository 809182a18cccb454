package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/sinks/sqltable"
)

var server *sinktest.Postgres // shared by the tests of this package

func run(m *testing.M) int {
	var err error
	if server, err = sinktest.NewPostgres(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func open(t testing.TB, o postgres.Options) *postgres.Sink {
	t.Helper()
	s, err := postgres.Open(t.Context(), server.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec(t testing.TB, statements ...string) {
	t.Helper()
	conn := connect(t)
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// read prints each column as its type demands, in a session with settings that would bend what is not independent of them.
func read(t testing.TB, schema string, table sinks.Table) (found []map[string]string) {
	t.Helper()
	conn := connect(t)
	if _, err := conn.Exec(t.Context(), "SET timezone = 'America/New_York'; SET datestyle = 'SQL, DMY'; SET intervalstyle = 'postgres_verbose'"); err != nil {
		t.Fatal(err)
	}
	var names, list []string
	for _, c := range table.Columns {
		q := sqltable.Quote(c.Name)
		switch c.Type {
		case "bytes":
			q = "encode(" + q + ", 'base64')"
		case "date":
			q = "to_char(" + q + ", 'YYYY-MM-DD')"
		case "datetime":
			q = "to_char(" + q + `, 'YYYY-MM-DD"T"HH24:MI:SS')`
		case "instant":
			q = "rtrim(to_char(" + q + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0') || 'Z'`
		default:
			q += "::text"
		}
		names, list = append(names, c.Name), append(list, q)
	}
	rows, err := conn.Query(t.Context(), "SELECT "+strings.Join(list, ", ")+" FROM "+sqltable.Quote(schema)+"."+sqltable.Quote(table.Consumer))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		r := map[string]string{}
		for i, v := range rows.RawValues() {
			if v != nil {
				r[names[i]] = string(v)
			}
		}
		found = append(found, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func target(t testing.TB, schema string) sinktest.Target {
	exec(t, "CREATE SCHEMA "+sqltable.Quote(schema))
	return sinktest.Target{
		Open: func(t testing.TB) sinks.Sink { return open(t, postgres.Options{Schema: schema}) },
		Drift: func(t testing.TB, d sinks.Drift) sinks.Sink {
			return open(t, postgres.Options{Schema: schema, SchemaDrift: d})
		},
		Bad: func(t testing.TB, b sinks.BadValue) sinks.Sink {
			return open(t, postgres.Options{Schema: schema, BadValue: b})
		},
		Read: func(t testing.TB, table sinks.Table) []map[string]string { return read(t, schema, table) },
		Wipe: func(t testing.TB, table sinks.Table) {
			exec(t, "TRUNCATE "+sqltable.Quote(schema)+"."+sqltable.Quote(table.Consumer))
		},
		Lose: map[string]func(testing.TB, sinks.Table){
			"emptied": func(t testing.TB, table sinks.Table) {
				exec(t, "DELETE FROM "+sqltable.Quote(schema)+"."+sqltable.Quote(table.Consumer))
			},
			"dropped": func(t testing.TB, table sinks.Table) {
				exec(t, "DROP TABLE "+sqltable.Quote(schema)+"."+sqltable.Quote(table.Consumer))
			},
			"position": func(t testing.TB, table sinks.Table) {
				exec(t, "DELETE FROM statebridge.progress WHERE consumer = '"+table.Consumer+"' AND source = '"+table.Source+"'")
			},
		},
		Whole: true, RefuseNUL: true,
	}
}

func TestConformance(t *testing.T) { sinktest.Run(t, target(t, `My "Schema"`)) }
