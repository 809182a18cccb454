package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/stream"
)

// TestGrownTypesStop where tables may not be altered: their values would not fit, so they can't be ignored.
func TestGrownTypesStop(t *testing.T) {
	exec(t, "CREATE SCHEMA grown")
	for _, d := range []sinks.Drift{sinks.DriftStop, sinks.DriftIgnore} {
		t.Run(string(d), func(t *testing.T) {
			s := open(t, postgres.Options{Schema: "grown", SchemaDrift: d})
			defer s.Close()
			table := sinks.Table{Source: "s", Consumer: string(d), Columns: []stream.Column{{Name: "id", Type: "int32", Key: true}, {Name: "n", Type: "int32"}}}
			if err := s.Prepare(t.Context(), table); err != nil {
				t.Fatal(err)
			}
			table.Columns[1].Type = "int64"
			var permanent *sinks.PermanentError
			if err := s.Prepare(t.Context(), table); !errors.As(err, &permanent) || !strings.Contains(err.Error(), `the column "n", now int64`) {
				t.Errorf("err = %v", err)
			}
			exec(t, `ALTER TABLE grown."`+string(d)+`" ALTER COLUMN n TYPE bigint`)
			if err := s.Prepare(t.Context(), table); err != nil {
				t.Errorf("after the table was altered: %v", err)
			}
		})
	}
}

// TestUnknownDrift is refused at once.
func TestUnknownDrift(t *testing.T) {
	if _, err := postgres.Open(t.Context(), server.URL, postgres.Options{SchemaDrift: "sometimes"}); err == nil {
		t.Error("no error")
	}
}
