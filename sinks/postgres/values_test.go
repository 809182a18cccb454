package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/stream"
)

// TestRefusedValues: what a column can't hold exactly stops the epoch, names the row and tells none of its values.
func TestRefusedValues(t *testing.T) {
	long := make([]byte, 3000)
	for i := range long {
		long[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rand.IntN(62)]
	}
	exec(t, "CREATE SCHEMA refused", `CREATE TABLE refused.narrow (id text PRIMARY KEY, d numeric(10,2), s varchar(5), n text NOT NULL, at timestamptz, t3 timestamp(3), j jsonb)`)
	s := open(t, postgres.Options{Schema: "refused"})
	defer s.Close()
	table := prepared(t, s, "narrow", stream.Column{Name: "id", Type: "string", Key: true}, stream.Column{Name: "d", Type: "decimal"}, stream.Column{Name: "s", Type: "string"},
		stream.Column{Name: "n", Type: "string"}, stream.Column{Name: "at", Type: "instant"}, stream.Column{Name: "t3", Type: "datetime"}, stream.Column{Name: "j", Type: "json"})
	put := func(member, value string) stream.Change {
		m := map[string]string{"id": `"secret"`, "n": `"secret"`}
		m[member] = value
		var parts []string
		for k, v := range m {
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
		return stream.Change{Op: 'c', Key: []byte(`{"id":` + m["id"] + `}`), After: []byte("{" + strings.Join(parts, ",") + "}"), Partition: 3, Seq: 41}
	}
	good := stream.Change{Op: 'c', Key: []byte(`{"id":"x"}`), After: []byte(`{"id":"x","n":"ok","d":"99999999.50","s":"éé é ","at":"2026-01-01T00:00:00.123456000Z","t3":"2026-01-01T00:00:00.120","j":[1]}`), Partition: 3, Seq: 40}
	tests := map[string]struct {
		change stream.Change
		column string
		reason string
	}{
		"digits":          {put("d", `"1.234"`), "d", "more digits"},
		"exponent digits": {put("d", `"1E-3"`), "d", "more digits"},
		"too big":         {put("d", `"123456789.00"`), "d", "out of the column's range"},
		"exponent":        {put("d", `"0.012E+10"`), "d", "out of the column's range"},
		"huge exponent":   {put("d", `"1E+99999999999999999999"`), "d", "out of the column's range"},
		"no number":       {put("d", `"secret"`), "d", "can't be read"},
		"too long":        {put("s", `"secret"`), "s", "longer than the column"},
		"blanks":          {put("s", `"12345 "`), "s", "longer than the column"},
		"null":            {put("n", `null`), "n", "NOT NULL"},
		"nanoseconds":     {put("at", `"2026-01-01T00:00:00.123456789Z"`), "at", "more digits"},
		"milliseconds":    {put("t3", `"2026-01-01T00:00:00.1234"`), "t3", "more digits"},
		"year":            {put("at", `"+1000000000-12-31T23:59:59Z"`), "at", "out of the column's range"},
		"NUL":             {put("s", `"\u0000"`), "s", "NUL"},
		"NUL in jsonb":    {put("j", `{"secret":"\u0000"}`), "j", "NUL"},
		"surrogate":       {put("s", `"\udc00"`), "s", "surrogate"},
		"half pair jsonb": {put("j", `"\ud800"`), "j", "surrogate"},
		"long key":        {put("id", `"`+string(long)+`"`), "", "too long for an index"},
		"bytes":           {put("s", "\"\xff\""), "", "no UTF-8"},
	}
	for _, full := range []bool{true, false} { // copied straight into the table, and through staging
		for name, test := range tests {
			err := try(t, s, table, epoch(table, 1, full), good, test.change)
			var refused *sinks.RowError
			var permanent *sinks.PermanentError
			if !errors.As(err, &refused) || !errors.As(err, &permanent) {
				t.Errorf("%s, full %v: err = %v, want a permanent RowError", name, full, err)
				continue
			}
			if refused.Partition != 3 || refused.Seq != 41 || test.column != "" && refused.Column != test.column {
				t.Errorf("%s, full %v: place %+v, want column %q", name, full, refused, test.column)
			}
			if !strings.Contains(err.Error(), test.reason) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), string(long[:10])) {
				t.Errorf("%s, full %v: %v, want %q", name, full, err, test.reason)
			}
		}
	}
	commit(t, s, table, epoch(table, 1, true), good)
}

// TestReplacedValues: each stand-in as docs/reference/columns.md has it, and what has none.
func TestReplacedValues(t *testing.T) {
	exec(t, "CREATE SCHEMA replaced", `CREATE TABLE replaced.narrow (id bigint PRIMARY KEY, s varchar(3), at timestamptz, t3 time(3), d date NOT NULL, n numeric(4,2), j jsonb)`)
	s := open(t, postgres.Options{Schema: "replaced", BadValue: sinks.BadReplace})
	defer s.Close()
	table := prepared(t, s, "narrow", id, stream.Column{Name: "s", Type: "string"}, stream.Column{Name: "at", Type: "instant"}, stream.Column{Name: "t3", Type: "time"},
		stream.Column{Name: "d", Type: "date"}, stream.Column{Name: "n", Type: "decimal"}, stream.Column{Name: "j", Type: "json"})
	put := func(id int, members string) stream.Change {
		key := fmt.Sprintf(`{"id":%d`, id)
		return stream.Change{Op: 'c', Key: []byte(key + "}"), After: []byte(key + "," + members + "}")}
	}
	commit(t, s, table, epoch(table, 1, true),
		put(1, `"s":"é\u0000\ud800x","at":"2026-01-01T00:00:00.123456999Z","t3":"23:59:59.9999","d":"2026-01-01","j":["\u0000"]`),
		put(2, `"s":null,"at":"+1000000000-12-31T23:59:59Z","d":"2026-01-01"`),
		put(3, `"at":"-1000000000-01-01T00:00:00Z","d":"-0043-03-15"`))
	want := []map[string]string{
		{"id": "1", "s": "é\ufffd\ufffd", "at": "2026-01-01T00:00:00.123456Z", "t3": "23:59:59.999", "d": "2026-01-01", "j": "[\"\ufffd\"]"},
		{"id": "2", "d": "2026-01-01"}, {"id": "3", "d": "0044-03-15"},
	}
	if d := cmp.Diff(want, read(t, "replaced", table)); d != "" {
		t.Error(d)
	}
	for column, members := range map[string]string{"d": `"d":"+999999999-01-01"`, "n": `"d":"2026-01-01","n":"1.234"`} { // NOT NULL; money is not rounded
		var refused *sinks.RowError
		if err := try(t, s, table, epoch(table, 2, false), put(4, members)); !errors.As(err, &refused) || refused.Column != column || strings.Contains(err.Error(), "NOT NULL") {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestFarYears: ISO 8601 and PostgreSQL spell years before 1 and after 9999 in their own ways.
func TestFarYears(t *testing.T) {
	exec(t, "CREATE SCHEMA years")
	s := open(t, postgres.Options{Schema: "years"})
	defer s.Close()
	table := prepared(t, s, "years", id, stream.Column{Name: "d", Type: "date"}, stream.Column{Name: "at", Type: "instant"}, stream.Column{Name: "dt", Type: "datetime"})
	var changes []stream.Change
	for i, year := range []string{"+10000", "+294276", "0000", "-0001", "-0098", "-4712", "0001", "9999"} {
		changes = append(changes, stream.Change{Op: 'c', Key: fmt.Appendf(nil, `{"id":%d}`, i),
			After: fmt.Appendf(nil, `{"id":%d,"d":"%[2]s-12-31","at":"%[2]s-12-31T23:59:59.5Z","dt":"%[2]s-12-31T23:59:59"}`, i, year)})
	}
	commit(t, s, table, epoch(table, 1, true), changes...)
	conn := connect(t)
	rows, err := conn.Query(t.Context(), `SELECT (SELECT count(*) FROM years.years WHERE extract(year FROM d) = extract(year FROM at AT TIME ZONE 'UTC') AND
		extract(year FROM d) = extract(year FROM dt) AND extract(month FROM dt) = 12 AND extract(second FROM at) = 59.5), extract(year FROM d)::int FROM years.years ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for rows.Next() {
		var same, year int
		if err := rows.Scan(&same, &year); err != nil || same != len(changes) {
			t.Fatal(same, err)
		}
		got = append(got, year)
	}
	if d := cmp.Diff([]int{10000, 294276, -1, -2, -99, -4713, 1, 9999}, got); d != "" { // extract counts BC, without a year 0
		t.Error(d)
	}
}

// TestNumbersTooBig: the server's own limit, 131072 digits before the point.
func TestNumbersTooBig(t *testing.T) {
	exec(t, "CREATE SCHEMA big")
	s := open(t, postgres.Options{Schema: "big"})
	defer s.Close()
	table := prepared(t, s, "big", id, stream.Column{Name: "d", Type: "decimal"})
	put := func(d string) stream.Change {
		return stream.Change{Op: 'c', Key: []byte(`{"id":1}`), After: []byte(`{"id":1,"d":"` + d + `"}`), Seq: 1}
	}
	commit(t, s, table, epoch(table, 1, true), put("9E+131071"))
	commit(t, s, table, epoch(table, 2, false), put("-0.09E+131073"))
	var refused *sinks.RowError
	for _, full := range []bool{true, false} {
		if err := try(t, s, table, epoch(table, 3, full), put("1E+131072")); !errors.As(err, &refused) || refused.Column != "d" {
			t.Errorf("full %v: %v", full, err)
		}
	}
}

// TestTextAsBytes: a bytea column takes any text as its UTF-8, a NUL too; verify finds it equal.
func TestTextAsBytes(t *testing.T) {
	exec(t, "CREATE SCHEMA bytes", `CREATE TABLE bytes.notes (id bigint PRIMARY KEY, s bytea)`, `CREATE TABLE bytes.keys (id bytea PRIMARY KEY, s text)`)
	s := open(t, postgres.Options{Schema: "bytes"})
	defer s.Close()
	table := prepared(t, s, "notes", id, stream.Column{Name: "s", Type: "string"})
	put := func(id int, text string) stream.Change {
		return stream.Change{Op: 'c', Key: fmt.Appendf(nil, `{"id":%d}`, id), After: fmt.Appendf(nil, `{"id":%d,"s":%s}`, id, text), Seq: uint64(id)}
	}
	rows := []stream.Change{put(1, `"a\u0000b"`), put(2, `"é\\x"`), put(3, `""`), put(4, `null`)}
	commit(t, s, table, epoch(table, 1, true), rows...)
	got := map[int]string{}
	found, err := connect(t).Query(t.Context(), `SELECT id, coalesce(encode(s, 'hex'), 'null') FROM bytes.notes`)
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		var id int
		var text string
		if err := found.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		got[id] = text
	}
	if d := cmp.Diff(map[int]string{1: "610062", 2: "c3a95c78", 3: "", 4: "null"}, got); d != "" {
		t.Error(d)
	}
	at, err := s.Position(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Verify(t.Context(), table, at, "")
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close(t.Context())
	tell := func(d sinks.Difference) error { return fmt.Errorf("%s %s", d.Kind, d.Key) }
	if err := errors.Join(v.Expect(t.Context(), rows, tell), v.Rest(t.Context(), tell)); err != nil {
		t.Error(err)
	}
	var refused *sinks.RowError
	if err := try(t, s, table, epoch(table, 2, false), put(5, `"\ud800"`)); !errors.As(err, &refused) || refused.Column != "s" {
		t.Errorf("half a pair has no UTF-8: %v", err)
	}
	var permanent *sinks.PermanentError
	err = s.Prepare(t.Context(), sinks.Table{Source: "bank", Consumer: "keys", Columns: []stream.Column{{Name: "id", Type: "string", Key: true}, {Name: "s", Type: "string"}}})
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), `"id" is bytea`) {
		t.Errorf("a key: %v", err)
	}
}

// TestLongNames: PostgreSQL would cut them, and two could become one.
func TestLongNames(t *testing.T) {
	s := open(t, postgres.Options{})
	defer s.Close()
	name := strings.Repeat("é", 32)
	err := s.Prepare(t.Context(), sinks.Table{Source: "s", Consumer: name, Columns: []stream.Column{id, {Name: name + "1", Type: "string"}, {Name: name + "2", Type: "string"}}})
	var permanent *sinks.PermanentError
	if !errors.As(err, &permanent) || strings.Count(err.Error(), "longer than the 63 bytes") != 3 {
		t.Fatalf("err = %v", err)
	}
}

func TestPasswordStaysOut(t *testing.T) {
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:1/db?connect_timeout=1", "postgres://u:hunter2@127.0.0.1:notaport/db", "postgres://u:hunter2@%zz/db", "host=127.0.0.1 password=hunter2 port=x"} {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil {
			_, err = s.Position(t.Context(), sinks.Table{})
			s.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v", err)
		}
	}
}

// TestKeysThatMerge: PostgreSQL holds 1.0 and 1.00 for equal, the state does not.
func TestKeysThatMerge(t *testing.T) {
	exec(t, "CREATE SCHEMA merging")
	s := open(t, postgres.Options{Schema: "merging"})
	defer s.Close()
	table := prepared(t, s, "prices", stream.Column{Name: "id", Type: "decimal", Key: true}, amount)
	put := func(id string, amount int) stream.Change {
		return stream.Change{Op: 'c', Key: fmt.Appendf(nil, `{"id":%q}`, id), After: fmt.Appendf(nil, `{"id":%q,"amount":%d}`, id, amount)}
	}
	gone := stream.Change{Op: 'd', Key: []byte(`{"id":"1.0"}`)}
	var permanent *sinks.PermanentError
	if err := try(t, s, table, epoch(table, 1, true), put("1.0", 1), put("1.00", 2)); !errors.As(err, &permanent) {
		t.Errorf("both in a full epoch: %v", err)
	}
	commit(t, s, table, epoch(table, 1, true), put("1.0", 1), put("2", 2))
	if err := try(t, s, table, epoch(table, 2, false), put("3", 1), put("3.0", 2)); !errors.As(err, &permanent) {
		t.Errorf("both in a delta: %v", err)
	}
	for n, changes := range [][]stream.Change{{put("1.00", 3), gone}, {gone, put("1.000", 4)}} { // one goes as the other comes, in either order
		commit(t, s, table, epoch(table, uint64(n+2), false), changes...)
		if rows := read(t, "merging", table); len(rows) != 2 {
			t.Errorf("rows = %v", rows)
		}
	}
}
