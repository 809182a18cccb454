package redis_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestHugeValues: 30 MB are written; 600 MB, beyond what a server takes by default, are refused before any of them is sent, on a connection that stays good.
func TestHugeValues(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	sized := func(n int) stream.Change {
		after := append([]byte(`{"id":"a","value":"`), bytes.Repeat([]byte("x"), n)...)
		return stream.Change{Op: 'u', Key: []byte(`{"id":"a"}`), After: append(after, `"}`...), Seq: 7}
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), sized(30<<20)); err != nil {
		t.Fatal(err)
	}
	if n := c.HStrLen(t.Context(), "c:a", "value").Val(); n != 30<<20 {
		t.Fatalf("%d bytes", n)
	}
	var refused *sinks.RowError
	if err := try(t.Context(), s, table, epoch(table, 2, false), sized(600<<20)); !errors.As(err, &refused) || refused.Seq != 7 || refused.Column != "value" {
		t.Fatalf("err = %v", err)
	}
	if n := c.HStrLen(t.Context(), "c:a", "value").Val(); n != 30<<20 {
		t.Fatalf("%d bytes after the refusal", n)
	}
	before := c.Info(t.Context(), "stats").Val()
	if err := try(t.Context(), s, table, epoch(table, 2, false), sized(1)); err != nil {
		t.Fatal(err)
	}
	if connections(before) != connections(c.Info(t.Context(), "stats").Val()) {
		t.Error("the sink had to connect anew")
	}
}

// connections is the line of INFO that counts those ever made.
func connections(info string) string {
	for line := range bytes.Lines([]byte(info)) {
		if bytes.HasPrefix(line, []byte("total_connections_received")) {
			return string(line)
		}
	}
	return ""
}
