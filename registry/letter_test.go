package registry_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/registry"
	"github.com/statebridge/statebridge/stream"
)

// TestLetters: one of a row, its newest; a row that no message holds is left out, a key that none holds is an error.
func TestLetters(t *testing.T) {
	bus, err := stream.Connect(t.Context(), stream.Options{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	source, err := bus.Source(t.Context(), "a.b")
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.OpenLetters(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	letter := func(sink, key, row string) registry.Letter {
		return registry.Letter{Sink: sink, Consumer: "odd *.> name", Reason: "r", Op: "u", Key: []byte(key), Row: []byte(row)}
	}
	long := `{"id":2,"s":"` + strings.Repeat("x", source.Limit()) + `"}`
	for _, l := range []registry.Letter{
		letter("pg", `{"id":1}`, `{"id":1,"s":"old"}`), letter("pg", `{"id":1}`, `{"id":1,"s":"<new>"}`), letter("pg", `{"id":2}`, long), letter("other", `{"id":1}`, `{}`),
	} {
		if err := s.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), letter("pg", `"`+strings.Repeat("k", source.Limit())+`"`, "{}")); !errors.Is(err, registry.ErrLongLetter) {
		t.Errorf("a long key gives %v", err)
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%d letters, %v", len(all), err)
	}
	for _, l := range all {
		if l.Row != nil {
			t.Error("a list has rows")
		}
		l, ok, err := s.Get(t.Context(), l)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		switch {
		case l.Sink == "pg" && string(l.Key) == `{"id":1}` && string(l.Row) != `{"id":1,"s":"<new>"}`, l.Size > 1000 && (l.Row != nil || l.Size != len(long)):
			t.Errorf("%+.200v", l)
		}
	}
	ids, err := s.IDs(t.Context(), "pg", "odd *.> name")
	if err != nil || len(ids) != 2 {
		t.Fatalf("ids %v, %v", ids, err)
	}
	for _, id := range ids {
		if err := s.Drop(t.Context(), registry.Letter{ID: id, Sink: "pg", Consumer: "odd *.> name"}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err = s.List(t.Context()); err != nil || len(all) != 1 || all[0].Sink != "other" {
		t.Errorf("%v, %v", all, err)
	}
	other := letter("pg", `{"id":1}`, "{}")
	other.Consumer = "odd *.> name too"
	for _, l := range []registry.Letter{letter("pg", `{"id":1}`, "{}"), letter("pg", `{"id":2}`, "{}"), other} {
		if err := s.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{3, 0} {
		if n, err := s.Remove(t.Context(), "odd *.> name"); n != want || err != nil {
			t.Errorf("%d letters are forgotten, %v; want %d", n, err, want)
		}
	}
	if all, err = s.List(t.Context()); err != nil || len(all) != 1 || all[0].Consumer != other.Consumer {
		t.Errorf("%v, %v", all, err)
	}
}
