package redis_test

import (
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestIgnoredColumnsOfStrings: the JSON of a row is written without them, and a bare value stays the only one.
func TestIgnoredColumnsOfStrings(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	for encoding, want := range map[redis.Encoding]string{redis.JSON: `{"id":1,"n":"a\"b"}`, redis.String: `a"b`} {
		t.Run(string(encoding), func(t *testing.T) {
			s := open(t, server.URL, redis.Options{Encoding: encoding, SchemaDrift: sinks.DriftIgnore})
			defer s.Close()
			table := sinks.Table{Source: "s", Consumer: string(encoding), Columns: []stream.Column{{Name: "id", Type: "int32", Key: true}, {Name: "n", Type: "string"}}}
			if err := s.Prepare(t.Context(), table); err != nil {
				t.Fatal(err)
			}
			table.Columns = append(table.Columns, stream.Column{Name: "extra", Type: "string"})
			if err := s.Prepare(t.Context(), table); err != nil {
				t.Fatal(err)
			}
			tx, err := s.Begin(t.Context(), table, sinks.Position{}, stream.Epoch{Chain: "c", Number: 1, Full: true})
			if err == nil {
				err = tx.Apply(t.Context(), []stream.Change{{Op: 'r', Key: []byte(`{"id":1}`), After: []byte(`{"id":1,"n":"a\"b","extra":"x"}`)}})
			}
			if err == nil {
				err = tx.Commit(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Get(t.Context(), string(encoding)+":1").Result(); err != nil || got != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		})
	}
}
