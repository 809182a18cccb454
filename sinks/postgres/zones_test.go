package postgres_test

import (
	"os"
	osexec "os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/stream"
)

// TestTimeZones writes an instant and a local time that New York's clocks never showed, as a worker under TZ=Asia/Kolkata whose sessions are in New York.
func TestTimeZones(t *testing.T) {
	if os.Getenv("TZ") != "Asia/Kolkata" { // Go reads TZ when a process starts
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		again := osexec.CommandContext(t.Context(), exe, "-test.run=^TestTimeZones$", "-test.count=1", "-test.v")
		again.Env = append(os.Environ(), "TZ=Asia/Kolkata")
		out, err := again.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return
	}
	exec(t, "CREATE SCHEMA zones", "ALTER DATABASE postgres SET timezone = 'America/New_York'")
	defer exec(t, "ALTER DATABASE postgres RESET timezone")
	s := open(t, postgres.Options{Schema: "zones"})
	defer s.Close()
	table := prepared(t, s, "times", id, stream.Column{Name: "local", Type: "datetime"}, stream.Column{Name: "at", Type: "instant"},
		stream.Column{Name: "day", Type: "date"}, stream.Column{Name: "clock", Type: "time"})
	const gap = `,"local":"2026-03-08T02:30:00","at":"2026-03-08T07:30:00.25Z","day":"2026-03-08","clock":"02:30:00"}`
	row := func(op byte, id string) stream.Change {
		return stream.Change{Op: op, Key: []byte(`{"id":` + id + `}`), After: []byte(`{"id":` + id + gap)}
	}
	commit(t, s, table, epoch(table, 1, true), row('r', "1"))
	commit(t, s, table, epoch(table, 2, false), row('c', "2"))
	want := []map[string]string{
		{"id": "1", "local": "2026-03-08T02:30:00", "at": "2026-03-08T07:30:00.25Z", "day": "2026-03-08", "clock": "02:30:00"},
		{"id": "2", "local": "2026-03-08T02:30:00", "at": "2026-03-08T07:30:00.25Z", "day": "2026-03-08", "clock": "02:30:00"},
	}
	if d := cmp.Diff(want, read(t, "zones", table)); d != "" {
		t.Error(d)
	}
	var zone string
	var equal int
	err := connect(t).QueryRow(t.Context(), `SELECT current_setting('timezone'), count(*) FROM zones.times
		WHERE at = timestamptz '2026-03-08 07:30:00.25+00' AND local = timestamp '2026-03-08 02:30:00'`).Scan(&zone, &equal)
	if err != nil || zone != "America/New_York" || equal != 2 {
		t.Errorf("in %s %d rows are equal: %v", zone, equal, err)
	}
}
