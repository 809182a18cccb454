package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqlite"
	"github.com/statebridge/statebridge/stream"
)

var (
	id   = stream.Column{Name: "id", Type: "int64", Key: true}
	note = stream.Column{Name: "note", Type: "string"}
)

func write(ctx context.Context, s *sqlite.Sink, table sinks.Table, full bool, changes ...stream.Change) error {
	from, err := s.Position(ctx, table)
	if err != nil {
		return err
	}
	to := stream.Epoch{Chain: "chain", Number: from.Epoch + 1, Full: full, Columns: table.Columns}
	tx, err := s.Begin(ctx, table, from, to)
	if err != nil {
		return err
	}
	if err = tx.Apply(ctx, changes); err == nil {
		err = tx.Commit(ctx)
	}
	return errors.Join(err, tx.Rollback(ctx))
}

func TestPreflight(t *testing.T) {
	for name, test := range map[string]struct {
		create string
		want   []string
	}{
		"fits":        {"CREATE TABLE pre (id INTEGER PRIMARY KEY, note TEXT)", nil},
		"unique":      {"CREATE TABLE pre (own INTEGER PRIMARY KEY, id BIGINT, note VARCHAR(20), UNIQUE (id))", nil},
		"missing":     {"CREATE TABLE pre (id INTEGER PRIMARY KEY)", []string{`column "note" is missing`}},
		"generated":   {"CREATE TABLE pre (id INTEGER PRIMARY KEY, note TEXT AS ('x'))", []string{`column "note" is generated`}},
		"number":      {"CREATE TABLE pre (id INTEGER PRIMARY KEY, note NUMERIC)", []string{`column "note" is NUMERIC`}},
		"not null":    {"CREATE TABLE pre (id INTEGER PRIMARY KEY, note TEXT, own TEXT NOT NULL)", []string{`column "own" is NOT NULL`}},
		"no index":    {"CREATE TABLE pre (id INTEGER, note TEXT)", []string{"no primary key"}},
		"other index": {"CREATE TABLE pre (id INTEGER, note TEXT, PRIMARY KEY (id, note))", []string{"no primary key"}},
		"partial":     {"CREATE TABLE pre (id INTEGER, note TEXT); CREATE UNIQUE INDEX u ON pre (id) WHERE id > 0", []string{"no primary key"}},
		"all at once": {"CREATE TABLE pre (id REAL, own TEXT NOT NULL)", []string{`"id" is REAL`, `"note" is missing`, `"own" is NOT NULL`, "no primary key"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pre.db")
			exec(t, path, test.create)
			s := open(t, path)
			defer s.Close()
			table := sinks.Table{Source: "s", Consumer: "pre", Columns: []stream.Column{id, note}}
			err := s.Prepare(t.Context(), table)
			var permanent *sinks.PermanentError
			if len(test.want) == 0 {
				if err == nil {
					err = write(t.Context(), s, table, true, stream.Change{Op: 'r', After: []byte(`{"id":1,"note":"a"}`)})
				}
				if err == nil {
					err = write(t.Context(), s, table, false, stream.Change{Op: 'u', After: []byte(`{"id":1,"note":"b"}`)})
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.As(err, &permanent) {
				t.Fatalf("err = %v, want a permanent one", err)
			}
			for _, w := range test.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in:\n%v", w, err)
				}
			}
		})
	}
}

// TestNames that SQLite can't tell apart, or keeps for itself.
func TestNames(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "names.db"))
	defer s.Close()
	var permanent *sinks.PermanentError
	for _, table := range []sinks.Table{
		{Consumer: "sqlite_x", Columns: []stream.Column{id}},
		{Consumer: "Statebridge_Progress", Columns: []stream.Column{id}},
		{Consumer: "twice", Columns: []stream.Column{id, {Name: "ID", Type: "string"}}},
		{Consumer: "keyless", Columns: []stream.Column{note}},
		{Consumer: "", Columns: []stream.Column{id}},
	} {
		if err := s.Prepare(t.Context(), table); !errors.As(err, &permanent) {
			t.Errorf("%q: %v", table.Consumer, err)
		}
	}
}

// TestReaderSeesWholeEpochs while two consumers share the one writer of the file.
func TestReaderSeesWholeEpochs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whole.db")
	s := open(t, path)
	defer s.Close()
	stop, stopped := context.WithCancel(t.Context())
	var writers, readers errgroup.Group
	const n = 200
	for _, consumer := range []string{"a", "b"} {
		table := sinks.Table{Source: "s", Consumer: consumer, Columns: []stream.Column{id, note}}
		if err := s.Prepare(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		rows := func(version int) (changes []stream.Change) {
			for i := range n {
				changes = append(changes, stream.Change{Op: 'u', After: fmt.Appendf(nil, `{"id":%d,"note":"%d"}`, i, version)})
			}
			return changes
		}
		if err := write(t.Context(), s, table, true, rows(0)...); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() error {
			for version := range 20 {
				if err := write(t.Context(), s, table, version%5 == 4, rows(version)...); err != nil {
					return err
				}
			}
			return nil
		})
		db := reader(t, path)
		readers.Go(func() error {
			for stop.Err() == nil {
				var rows, versions int
				if err := db.QueryRow("SELECT count(*), count(DISTINCT note) FROM "+consumer).Scan(&rows, &versions); err != nil {
					return err
				}
				if rows != n || versions != 1 {
					return fmt.Errorf("a reader sees %d rows of %d versions", rows, versions)
				}
			}
			return nil
		})
	}
	err := writers.Wait()
	stopped()
	if err := errors.Join(err, readers.Wait()); err != nil {
		t.Fatal(err)
	}
}

func TestNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	var permanent *sinks.PermanentError
	if !errors.As(err, &permanent) {
		t.Errorf("err = %v, want a permanent one", err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "no", "such", "directory"), sqlite.Options{}); err == nil {
		t.Error("opened in a directory that is not there")
	}
}

// TestKeyRenamed: the table that Statebridge made for another key is not altered; the error says how to get a new one, and that works.
func TestKeyRenamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "renamed.db")
	s := open(t, path)
	defer s.Close()
	table := sinks.Table{Source: "bank", Consumer: "pre", Columns: []stream.Column{id, note}}
	if err := s.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), s, table, true, stream.Change{Op: 'r', Key: []byte(`{"id":1}`), After: []byte(`{"id":1,"note":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	table.Columns = []stream.Column{{Name: "key", Type: "int64", Key: true}, {Name: "n", Type: "int64"}}
	err := s.Prepare(t.Context(), table)
	var permanent *sinks.PermanentError
	for _, want := range []string{`column "key" is missing`, `drop the table "pre", or give the consumer another name; its rows come again`} {
		if !errors.As(err, &permanent) || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
	exec(t, path, `DROP TABLE "pre"`)
	if err := s.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{true, false} {
		if err := write(t.Context(), s, table, full, stream.Change{Op: 'u', Key: []byte(`{"key":1}`), After: []byte(`{"key":1,"n":2}`)}); err != nil {
			t.Fatal(err)
		}
	}
}

// Another process may be writing when this one starts: no reason to give up.
func TestOpenLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	lock, err := reader(t, path).Conn(t.Context())
	if err == nil {
		defer lock.Close()
		_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	defer s.Close()
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Position(t.Context(), sinks.Table{Source: "s", Consumer: "t"}); err != nil || at != (sinks.Position{}) {
		t.Errorf("position %+v, %v", at, err)
	}
}
