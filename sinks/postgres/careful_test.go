package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/stream"
)

// picky is a table whose every rule only the server knows, and the changes of its rows.
type picky struct {
	*testing.T
	sink    *postgres.Sink
	table   sinks.Table
	letters []string
	number  uint64
}

func newPicky(t *testing.T, schema string, letters bool) *picky {
	exec(t, "CREATE SCHEMA "+schema, fmt.Sprintf(`CREATE TABLE %s.kinds (name text PRIMARY KEY)`, schema), fmt.Sprintf(`INSERT INTO %s.kinds VALUES ('a'), ('b')`, schema),
		fmt.Sprintf(`CREATE TABLE %[1]s.picky (id bigint PRIMARY KEY, amount numeric(6,2) CHECK (amount < 1000), code text, kind text REFERENCES %[1]s.kinds, day date, ident uuid, late text,
			UNIQUE (code), UNIQUE (late) DEFERRABLE INITIALLY DEFERRED)`, schema))
	p := &picky{T: t, sink: open(t, postgres.Options{Schema: schema})}
	t.Cleanup(func() { p.sink.Close() })
	p.table = prepared(t, p.sink, "picky", id, stream.Column{Name: "amount", Type: "decimal"}, stream.Column{Name: "code", Type: "string"}, stream.Column{Name: "kind", Type: "string"},
		stream.Column{Name: "day", Type: "date"}, stream.Column{Name: "ident", Type: "uuid"}, stream.Column{Name: "late", Type: "string"})
	if letters {
		p.table.Refused = func(_ context.Context, c stream.Change, why *sinks.RowError) error {
			if strings.Contains(why.Error(), "secret") {
				t.Errorf("a value is told: %v", why)
			}
			if !strings.HasPrefix(string(c.Key), `{"id":`) || c.Op != 'd' && !strings.HasPrefix(string(c.After), string(c.Key[:len(c.Key)-1])) || why.Seq != c.Seq {
				t.Errorf("the letter is not the row's: %c %s %s, %v", c.Op, c.Key, c.After, why)
			}
			p.letters = append(p.letters, fmt.Sprintf("%c %s %s", c.Op, c.Key, why.Reason))
			return nil
		}
	}
	return p
}

func row(op byte, id int, members string) stream.Change {
	c := stream.Change{Op: op, Key: fmt.Appendf(nil, `{"id":%d}`, id), Partition: id % 3, Seq: uint64(id)}
	if op != 'd' {
		c.After = fmt.Appendf(nil, `{"id":%d,%s}`, id, members)
	}
	return c
}

// take applies an epoch as a Worker does: again after an error that a retry may mend.
func (p *picky) take(full bool, changes ...stream.Change) error {
	p.Helper()
	p.number++
	var err error
	for range 3 {
		p.letters = nil
		var permanent *sinks.PermanentError
		if err = try(p.T, p.sink, p.table, epoch(p.table, p.number, full), changes...); err == nil || errors.As(err, &permanent) {
			break
		}
		if !errors.Is(err, sinks.ErrAgain) || strings.Contains(err.Error(), "secret") {
			p.Fatalf("err = %v", err)
		}
	}
	return err
}

// verify compares the table with the rows of some changes.
func (p *picky) verify(rows ...stream.Change) string {
	p.Helper()
	at, err := p.sink.Position(p.Context(), p.table)
	if err != nil {
		p.Fatal(err)
	}
	v, err := p.sink.Verify(p.Context(), p.table, at, "")
	if err != nil {
		p.Fatal(err)
	}
	defer v.Close(p.Context())
	var found []string
	tell := func(d sinks.Difference) error {
		found = append(found, fmt.Sprintf("%s %s", d.Kind, d.Key))
		return nil
	}
	if err := errors.Join(v.Expect(p.Context(), rows, tell), v.Rest(p.Context(), tell)); err != nil {
		p.Fatal(err)
	}
	return strings.Join(found, ", ")
}

func (p *picky) ids(schema string) (ids []string) {
	for _, r := range read(p.T, schema, p.table) {
		ids = append(ids, r["id"])
	}
	slices.Sort(ids)
	return ids
}

// TestServerRefusesRows: each kind of rule, in full epochs and in others; the row at fault is named and kept, what the table held of it is gone, and all others are there.
func TestServerRefusesRows(t *testing.T) {
	good := []stream.Change{row('r', 1, `"amount":"1","code":"one","kind":"a"`), row('r', 2, `"amount":"2","code":"two"`), row('r', 9, `"amount":"9"`)}
	for name, test := range map[string]struct{ members, reason string }{
		"check":       {`"amount":"1000.00","code":"secret"`, `a constraint of the table does not hold (constraint "picky_amount_check")`},
		"unique":      {`"code":"two","late":"secret"`, `another row has the same unique value (constraint "picky_code_key")`},
		"foreign key": {`"kind":"secret"`, `a constraint of the table does not hold (constraint "picky_kind_fkey")`},
		"no date":     {`"day":"secret"`, `the date or time is out of the column's range, or no date or time at all`},
		"no uuid":     {`"ident":"secret"`, `the value can't be read as the column's type`},
		"long value":  {`"code":"` + incompressible("secret", 4000) + `"`, `the key is too long for an index (about 2700 bytes) (constraint "picky_code_key")`},
	} {
		t.Run(name, func(t *testing.T) {
			schema := "refuses_" + strings.ReplaceAll(name, " ", "_")
			p := newPicky(t, schema, true)
			for _, full := range []bool{true, true, false, false} { // the table is empty at first
				op := byte('u')
				if full {
					op = 'r'
				} else if err := p.take(false, row('u', 5, `"amount":"5"`)); err != nil { // it fits for a while
					t.Fatal(err)
				}
				changes := append(slices.Clone(good), row(op, 5, test.members), row('r', 6, `"kind":"b"`))
				if err := p.take(full, changes...); err != nil {
					t.Fatalf("full %v: %v", full, err)
				}
				if d := cmp.Diff([]string{fmt.Sprintf(`%c {"id":5} %s`, op, test.reason)}, p.letters); d != "" {
					t.Errorf("full %v: letters (-want +got):\n%s", full, d)
				}
				if d := cmp.Diff([]string{"1", "2", "6", "9"}, p.ids(schema)); d != "" {
					t.Errorf("full %v: rows (-want +got):\n%s", full, d)
				}
				if found := p.verify(changes...); found != `missing {"id":5}` {
					t.Errorf("full %v: verify says %q", full, found)
				}
			}
			if err := p.take(false, row('c', 5, `"amount":"5"`), row('d', 9, "")); err != nil || len(p.letters) > 0 {
				t.Fatalf("%v, %q", err, p.letters)
			}
			if d := cmp.Diff([]string{"1", "2", "5", "6"}, p.ids(schema)); d != "" {
				t.Error(d)
			}

			wait := newPicky(t, schema+"_wait", false)
			if err := wait.take(true, good...); err != nil {
				t.Fatal(err)
			}
			for _, full := range []bool{false, true} {
				var refused *sinks.RowError
				err := wait.take(full, append(slices.Clone(good), row('u', 5, test.members))...)
				if !errors.As(err, &refused) || refused.Seq != 5 || refused.Partition != 2 || refused.Reason != test.reason || strings.Contains(err.Error(), "secret") {
					t.Errorf("full %v: %v", full, err)
				}
			}
		})
	}
}

// incompressible is a text that an index can't shorten.
func incompressible(start string, n int) string {
	text := []byte(start)
	for x := uint32(1); len(text) < n; {
		x = x*1664525 + 1013904223
		text = append(text, "0123456789abcdefghijklmnopqrstuv"[x>>27])
	}
	return string(text)
}

// TestServerRefusesSome: a few rows among thousands, in few attempts; others take their unique values in any order; the last change of a row counts.
func TestServerRefusesSome(t *testing.T) {
	p := newPicky(t, "some_rows", true)
	const n = 5000
	want := []string{}
	var changes []stream.Change
	for i := range n {
		members := fmt.Sprintf(`"amount":"%d","code":"c%d"`, i%1000, i)
		if i%700 == 3 {
			members = `"amount":"1000"`
			want = append(want, fmt.Sprint(i))
		}
		changes = append(changes, row('r', i, members))
	}
	check := func(want []string, rows int) {
		t.Helper()
		var got []string
		for _, l := range p.letters {
			got = append(got, strings.Trim(strings.Fields(l)[1], `{"id:}`))
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("letters (-want +got):\n%s", d)
		}
		if found := len(p.ids("some_rows")); found != rows {
			t.Errorf("%d rows, want %d", found, rows)
		}
	}
	if err := p.take(true, changes...); err != nil {
		t.Fatal(err)
	}
	check(want, n-len(want))
	// c0 moves on from row to row, and 1 is refused; 7 is bad for a moment, 8 good for one; 10 goes, and 11 takes what it had.
	if err := p.take(false, row('u', 1, `"kind":"nowhere"`), row('u', 2, `"code":"c1"`), row('u', 4, `"code":"c2"`), row('u', 5, `"code":"c4"`),
		row('u', 7, `"amount":"1000"`), row('u', 7, `"amount":"7"`), row('u', 8, `"amount":"8"`), row('u', 8, `"amount":"1000"`),
		row('u', 11, `"code":"c10"`), row('d', 10, "")); err != nil {
		t.Fatal(err)
	}
	check([]string{"1", "8"}, n-len(want)-3)
	at, err := p.sink.Position(t.Context(), p.table)
	if err != nil || at.Epoch != p.number || at.Lost != "" {
		t.Errorf("%+v, %v", at, err)
	}
	var counted int
	if err := connect(t).QueryRow(t.Context(), `SELECT rows FROM statebridge.progress WHERE target LIKE '"some_rows"%'`).Scan(&counted); err != nil || counted != n-len(want)-3 {
		t.Errorf("the position tells of %d rows, %v; want %d", counted, err, n-len(want)-3)
	}
}

// TestServerRefusesAtTheCommit: a constraint that is put off until then names its row, too.
func TestServerRefusesAtTheCommit(t *testing.T) {
	p := newPicky(t, "put_off", true)
	if err := p.take(true, row('r', 1, `"late":"x"`), row('r', 2, `"late":"y"`), row('r', 3, `"late":"x"`)); err != nil {
		t.Fatal(err)
	}
	if ids := p.ids("put_off"); len(p.letters) != 1 || len(ids) != 2 || !strings.Contains(p.letters[0], "picky_late_key") {
		t.Fatalf("rows %q, letters %q", ids, p.letters)
	}
}

// TestServerRefusesAll: a table whose rows are all letters is not taken for one that was emptied; an owner that keeps none refuses the epoch; a row that can't be deleted
// stays, and the epoch is refused.
func TestServerRefusesAll(t *testing.T) {
	p := newPicky(t, "all_of_them", true)
	if err := p.take(true, row('r', 1, `"amount":"1000"`), row('r', 2, `"amount":"1000"`)); err != nil || len(p.letters) != 2 {
		t.Fatalf("%v, %q", err, p.letters)
	}
	if at, err := p.sink.Position(t.Context(), p.table); err != nil || at.Lost != "" || at.Epoch != 1 {
		t.Fatalf("%+v, %v", at, err)
	}
	full := errors.New("no room for letters")
	keep := p.table.Refused
	p.table.Refused = func(context.Context, stream.Change, *sinks.RowError) error { return full }
	if err := try(p.T, p.sink, p.table, epoch(p.table, 2, false), row('u', 1, `"amount":"1000"`)); !errors.Is(err, full) {
		t.Fatal(err)
	}
	p.table.Refused = keep
	if err := p.take(false, row('c', 3, `"amount":"3"`)); err != nil {
		t.Fatal(err)
	}
	exec(t, `CREATE TABLE all_of_them.others (id bigint REFERENCES all_of_them.picky)`, `INSERT INTO all_of_them.others VALUES (3)`)
	var permanent *sinks.PermanentError
	if err := p.take(false, row('d', 3, "")); !errors.As(err, &permanent) || len(p.letters) > 0 {
		t.Fatalf("%v, %q", err, p.letters)
	}
}

// TestTriggersRefuse: a trigger that raises an error of a row makes a letter; any other exception is worth a retry. Its text, which may quote the row, is not told.
func TestTriggersRefuse(t *testing.T) {
	p := newPicky(t, "triggers", true)
	raise := func(using string) {
		exec(t, `CREATE OR REPLACE FUNCTION triggers.refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN IF NEW.code LIKE 'secret%' THEN RAISE EXCEPTION 'not %', NEW.code`+using+`; END IF; RETURN NEW; END $$`)
	}
	raise(" USING ERRCODE = 'check_violation'")
	exec(t, `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON triggers.picky FOR EACH ROW EXECUTE FUNCTION triggers.refuse()`)
	changes := []stream.Change{row('r', 1, `"code":"secret"`), row('r', 2, `"code":"two"`)}
	if err := p.take(true, changes...); err != nil || len(p.letters) != 1 || len(p.ids("triggers")) != 1 {
		t.Fatalf("%v, letters %q, rows %q", err, p.letters, p.ids("triggers"))
	}
	raise("")
	var permanent *sinks.PermanentError
	err := try(p.T, p.sink, p.table, epoch(p.table, 2, true), changes...)
	if err == nil || errors.As(err, &permanent) || errors.Is(err, sinks.ErrAgain) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "a trigger") {
		t.Fatal(err)
	}
}

// TestPutOffConstraintOfOneOfTwo: a constraint that is put off until the commit is not told to be the first table's, whose row becomes a letter all the same.
func TestPutOffConstraintOfOneOfTwo(t *testing.T) {
	p := newPicky(t, "puttwo", true)
	plain := prepared(t, p.sink, "plain", id, amount)
	attempt := func(number uint64, late string) error {
		from, err1 := p.sink.Position(t.Context(), p.table)
		other, err2 := p.sink.Position(t.Context(), plain)
		tx, err3 := p.sink.Begin(t.Context(), p.table, from, epoch(p.table, number, number == 1))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		joint := tx.(sinks.Joint)
		err := tx.Apply(t.Context(), []stream.Change{row('c', int(number), `"kind":"a","late":"`+late+`"`), row('c', int(number)+100, `"kind":"a","late":"x"`)})
		if err == nil {
			err = joint.Finish(t.Context())
		}
		if err == nil {
			err = joint.Then(t.Context(), plain, other, epoch(plain, number, number == 1))
		}
		if err == nil {
			err = tx.Apply(t.Context(), accounts('r', int(number), func(i int) int { return i }))
		}
		if err == nil {
			err = tx.Commit(t.Context())
		}
		return errors.Join(err, tx.Rollback(t.Context()))
	}
	for number := uint64(1); number <= 3; number++ {
		p.letters = nil
		tries, err := 0, sinks.ErrAgain
		for ; errors.Is(err, sinks.ErrAgain) && tries < 5; tries++ {
			p.letters = nil
			err = attempt(number, []string{"", "x", "y", "x"}[number])
		}
		if err != nil {
			t.Fatalf("epoch %d, try %d: %v", number, tries, err)
		}
		if n := len(p.letters); n == 0 {
			t.Errorf("epoch %d: no letter", number)
		}
		if got := len(read(t, "puttwo", plain)); got != int(number) {
			t.Errorf("epoch %d: %d rows of the other table", number, got)
		}
	}
}
