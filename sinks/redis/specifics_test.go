package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

var (
	id    = stream.Column{Name: "id", Type: "string", Key: true}
	other = stream.Column{Name: "other", Type: "string", Key: true}
	value = stream.Column{Name: "value", Type: "string"}
	more  = stream.Column{Name: "more", Type: "json"}
)

func prepared(t testing.TB, s sinks.Sink, consumer string, columns ...stream.Column) sinks.Table {
	t.Helper()
	table := sinks.Table{Source: "bank", Consumer: consumer, Columns: columns}
	if err := s.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return table
}

func epoch(table sinks.Table, n uint64, full bool) stream.Epoch {
	return stream.Epoch{Source: table.Source, Consumer: table.Consumer, Chain: "chain", Number: n, Full: full, Columns: table.Columns, Partitions: 1, Snapshot: stream.SnapshotRef{CheckpointID: int64(n)}}
}

func try(ctx context.Context, s sinks.Sink, table sinks.Table, to stream.Epoch, changes ...stream.Change) error {
	from, err := s.Position(ctx, table)
	if err != nil {
		return err
	}
	tx, err := s.Begin(ctx, table, from, to)
	if err != nil {
		return err
	}
	if err = tx.Apply(ctx, changes); err == nil {
		err = tx.Commit(ctx)
	}
	return errors.Join(err, tx.Rollback(ctx))
}

func put(key, after string) stream.Change {
	return stream.Change{Op: 'u', Key: []byte(key), After: []byte(after)}
}

func TestTemplates(t *testing.T) {
	server := sinktest.StartRedis(t)
	for template, want := range map[string]string{
		"rows:{id}:{other}":         "",
		"rows:{other}/{id}!":        "",
		"rows:{id}":                 `key column "other" is missing`,
		"rows:{id}{other}":          "side by side",
		"rows:{id}:{other}:{id}":    `column "id" is named twice`,
		"rows:{id}:{other}:{value}": `"value" is no key column`,
		"rows:{id}:{other":          "a brace is not closed",
		"{id}:{other}":              "would own all keys of the database",
		"statebridge:{id}:{other}":  "where the positions are",
		"statebridge:b{id}:{other}": "where the positions are",
		"s{id}:{other}":             "where the positions are",
		"rows:{nope}:{id}:{other}":  `"nope" is no key column`,
	} {
		s := open(t, server.URL, redis.Options{Key: template})
		err := s.Prepare(t.Context(), sinks.Table{Source: "s", Consumer: "c", Columns: []stream.Column{id, other, value}})
		var permanent *sinks.PermanentError
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", template, err)
		case want != "" && (!errors.As(err, &permanent) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: err = %v, want %q", template, err, want)
		}
		s.Close()
	}
}

// TestKeysStayApart: values that hold the template's own text.
func TestKeysStayApart(t *testing.T) {
	server := sinktest.StartRedis(t)
	s := open(t, server.URL, redis.Options{Key: "row*[x]:{id}:{other}."})
	defer s.Close()
	table := prepared(t, s, "c", id, other, value)
	parts := []string{"", "a", ":", "a:b", "b", "%", "%3A", "a%3Ab", ".", "é"}
	var changes []stream.Change
	for _, a := range parts {
		for _, b := range parts {
			key := fmt.Sprintf(`{"id":%q,"other":%q}`, a, b)
			changes = append(changes, put(key, strings.TrimSuffix(key, "}")+`,"value":"x"}`))
		}
	}
	c := dial(t, server.Addr)
	c.Set(t.Context(), "rowx:foreign:key.", "stays", 0) // matches the glob if it is not escaped
	for range 2 {
		if err := try(t.Context(), s, table, epoch(table, 1, true), changes...); err != nil {
			t.Fatal(err)
		}
		if found := keys(t, c); len(found) != len(changes)+2 || !slices.Contains(found, "row*[x]:a%3Ab:b.") || !slices.Contains(found, "row*[x]:%25:é.") {
			t.Fatalf("%d keys: %q", len(found), found)
		}
	}
	if err := try(t.Context(), s, table, epoch(table, 2, true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rowx:foreign:key.", "statebridge:bank:c"}, keys(t, c)); diff != "" {
		t.Fatal(diff)
	}
}

// TestFullEpochOwnsTheBeginning: a full epoch leaves no key that begins like the template and is not in the state, whoever wrote it.
func TestFullEpochOwnsTheBeginning(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	two := open(t, server.URL, redis.Options{})
	defer two.Close()
	table := prepared(t, two, "c", id, other, value)
	if err := try(t.Context(), two, table, epoch(table, 1, true), put(`{"id":"x","other":"y"}`, `{"id":"x","other":"y","value":"1"}`)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"c:foreign", "c:foreign:two", "c:", "c", "cc:x", "C:x"} {
		c.Set(t.Context(), key, "x", 0)
	}
	c.RPush(t.Context(), "c:a", "a list where a row belongs")

	one := open(t, server.URL, redis.Options{})
	defer one.Close()
	for n, row := range []string{`{"id":"a","value":"1"}`, `{"id":"a","value":"2"}`} {
		table = prepared(t, one, "c", id, value)
		if err := try(t.Context(), one, table, epoch(table, uint64(n)+2, true), put(`{"id":"a"}`, row)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"C:x", "c", "c:a", "cc:x", "statebridge:bank:c"}, keys(t, c)); diff != "" {
			t.Fatal(diff)
		}
		c.Set(t.Context(), "c:foreign", "x", 0)
	}
}

func TestEncodings(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	change := put(`{"id":"a\"b"}`, `{"id":"a\"b","value":"x\ny","more":null}`)

	s := open(t, server.URL, redis.Options{Key: "j:{id}", Encoding: redis.JSON})
	defer s.Close()
	table := prepared(t, s, "json", id, value, more)
	if err := try(t.Context(), s, table, epoch(table, 1, true), change); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), `j:a"b`).Result(); got != string(change.After) || err != nil {
		t.Errorf("json: %q, %v", got, err)
	}

	s = open(t, server.URL, redis.Options{Key: "s:{id}", Encoding: redis.String})
	defer s.Close()
	if err := s.Prepare(t.Context(), sinks.Table{Consumer: "string", Columns: []stream.Column{id, value, more}}); err == nil || !strings.Contains(err.Error(), "exactly one column") {
		t.Errorf("string of two columns: %v", err)
	}
	table = prepared(t, s, "string", id, value)
	if err := try(t.Context(), s, table, epoch(table, 1, true), put(`{"id":"a"}`, `{"id":"a","value":"x\ny"}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), "s:a").Result(); got != "x\ny" || err != nil {
		t.Errorf("string: %q, %v", got, err)
	}
	var refused *sinks.RowError
	if err := try(t.Context(), s, table, epoch(table, 2, false), put(`{"id":"a"}`, `{"id":"a","value":null}`)); !errors.As(err, &refused) || refused.Column != "value" {
		t.Errorf("a null as string: %v", err)
	}
	if err := s.Prepare(t.Context(), sinks.Table{Consumer: "twin", Columns: []stream.Column{id, value}}); err == nil || !strings.Contains(err.Error(), "begins like that") {
		t.Errorf("two consumers of one template: %v", err)
	}
}

// TestReaderNeverSeesHalfARow: two columns always agree, none is stale, the key is never absent, and its TTL stays.
func TestReaderNeverSeesHalfARow(t *testing.T) {
	server := sinktest.StartRedis(t)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value, more)
	rows := []string{`{"id":"a","value":"1","more":1}`, `{"id":"a","value":"2","more":null}`, `{"id":"a","value":"3","more":3}`}
	legal := []map[string]string{{"id": "a", "value": "1", "more": "1"}, {"id": "a", "value": "2"}, {"id": "a", "value": "3", "more": "3"}}
	if err := try(t.Context(), s, table, epoch(table, 1, true), put(`{"id":"a"}`, rows[0])); err != nil {
		t.Fatal(err)
	}
	c := dial(t, server.Addr)
	if err := c.Expire(t.Context(), "c:a", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	stop, stopped := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		for stop.Err() == nil {
			got, err := c.HGetAll(t.Context(), "c:a").Result()
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(legal, func(m map[string]string) bool { return maps.Equal(m, got) }) {
				return fmt.Errorf("a reader sees %v", got)
			}
		}
		return nil
	})
	g.Go(func() error {
		defer stopped()
		for n := range uint64(300) {
			if err := try(t.Context(), s, table, epoch(table, n+2, false), put(`{"id":"a"}`, rows[n%3])); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if ttl := c.TTL(t.Context(), "c:a").Val(); ttl < time.Minute {
		t.Errorf("TTL = %v", ttl)
	}
}

// TestZombieInMidBatch: a worker that was replaced in the middle of an epoch changes nothing more.
func TestZombieInMidBatch(t *testing.T) {
	server := sinktest.StartRedis(t)
	s, late := open(t, server.URL, redis.Options{}), open(t, server.URL, redis.Options{})
	defer s.Close()
	defer late.Close()
	table := prepared(t, s, "c", id, value)
	prepared(t, late, "c", id, value)
	zombie, err := late.Begin(t.Context(), table, sinks.Position{}, epoch(table, 1, true))
	if err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), put(`{"id":"a"}`, `{"id":"a","value":"new"}`)); err != nil {
		t.Fatal(err)
	}
	err = zombie.Apply(t.Context(), []stream.Change{put(`{"id":"a"}`, `{"id":"a","value":"old"}`)})
	if err == nil {
		err = zombie.Commit(t.Context())
	}
	if !errors.Is(err, sinks.ErrFenced) {
		t.Fatalf("err = %v, want %v", err, sinks.ErrFenced)
	}
	if got := dial(t, server.Addr).HGet(t.Context(), "c:a", "value").Val(); got != "new" {
		t.Fatalf("value = %q", got)
	}
}

// TestErrors: what the server may say, and whether a retry makes sense.
func TestErrors(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	row := put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", 2000)+`"}`)
	do := func(args ...any) {
		t.Helper()
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do("set", "c:b", "a string")
	wrong := try(t.Context(), s, table, epoch(table, 1, false), put(`{"id":"b"}`, `{"id":"b","value":"x"}`))
	var permanent *sinks.PermanentError
	if !errors.As(wrong, &permanent) || !strings.Contains(wrong.Error(), "WRONGTYPE") {
		t.Errorf("a key of another type: %v", wrong)
	}
	do("del", "c:b")
	for name, fault := range map[string]struct{ before, after []any }{
		"OOM":      {[]any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}},
		"READONLY": {[]any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}},
	} {
		do(fault.before...)
		err := try(t.Context(), s, table, epoch(table, 1, true), row)
		if err == nil || errors.As(err, &permanent) {
			t.Errorf("%s: err = %v, want one worth a retry", name, err)
		}
		do(fault.after...)
	}
	if at, err := s.Position(t.Context(), table); err != nil || at.Chain != "" {
		t.Errorf("after failures: %+v, %v", at, err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), row); err != nil {
		t.Fatal(err)
	}
	do("config", "set", "requirepass", "hunter2")
	locked := open(t, server.URL, redis.Options{})
	defer locked.Close()
	if _, err := locked.Position(t.Context(), table); !errors.As(err, &permanent) {
		t.Errorf("without a password: %v", err)
	}
}

// TestServerKilled: an epoch goes on after the server has come back empty.
func TestServerKilled(t *testing.T) {
	server := sinktest.StartRedis(t)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	row := put(`{"id":"a"}`, `{"id":"a","value":"x"}`)
	if err := try(t.Context(), s, table, epoch(table, 1, true), row); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := try(t.Context(), s, table, epoch(table, 2, false), row); err == nil {
		t.Fatal("committed to a dead server")
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := s.Position(t.Context(), table)
	if err != nil || at != (sinks.Position{}) {
		t.Fatalf("position = %+v, %v", at, err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), row); err != nil {
		t.Fatal(err)
	}
}

func TestPasswordStaysOut(t *testing.T) {
	for _, url := range []string{"redis://u:hunter2@127.0.0.1:1", "redis://u:hunter2@127.0.0.1:port", "http://u:hunter2@x", "redis://u:hunter2@%zz", "redis://u:hunter2@127.0.0.1:1/notanumber"} {
		s, err := redis.Open(t.Context(), url, redis.Options{})
		if err == nil {
			_, err = s.Position(t.Context(), sinks.Table{})
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v", err)
		}
	}
}

// TestLongValues: refused by name before they are sent, where the server would break the connection.
func TestLongValues(t *testing.T) {
	server := sinktest.StartRedis(t, "--proto-max-bulk-len", "2mb")
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	long := func(n int) stream.Change {
		c := put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", n)+`"}`)
		c.Seq = 7
		return c
	}
	var refused *sinks.RowError
	if err := try(t.Context(), s, table, epoch(table, 1, true), long(3<<20)); !errors.As(err, &refused) || refused.Seq != 7 || refused.Column != "value" {
		t.Fatalf("err = %v", err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), long(1<<20)); err != nil {
		t.Fatal(err)
	}
	if n := dial(t, server.Addr).HStrLen(t.Context(), "c:a", "value").Val(); n != 1<<20 {
		t.Fatalf("%d bytes", n)
	}
}

// TestLongValuesReplaced: a value that is too long is a field that is not there; encoding string has no such thing.
func TestLongValuesReplaced(t *testing.T) {
	server := sinktest.StartRedis(t, "--proto-max-bulk-len", "2mb")
	s := open(t, server.URL, redis.Options{BadValue: sinks.BadReplace})
	defer s.Close()
	table := prepared(t, s, "c", id, value, stream.Column{Name: "n", Type: "string"})
	long := put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", 3<<20)+`","n":"\ud800"}`)
	if err := try(t.Context(), s, table, epoch(table, 1, true), long); err != nil {
		t.Fatal(err)
	}
	got := dial(t, server.Addr).HGetAll(t.Context(), "c:a").Val()
	if d := cmp.Diff(map[string]string{"id": "a", "n": "\ufffd"}, got); d != "" {
		t.Fatal(d)
	}
	texts := open(t, server.URL, redis.Options{BadValue: sinks.BadReplace, Encoding: redis.String})
	defer texts.Close()
	table = prepared(t, texts, "d", id, value)
	var refused *sinks.RowError
	if err := try(t.Context(), texts, table, epoch(table, 1, true), put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", 3<<20)+`"}`)); !errors.As(err, &refused) || refused.Column != "value" {
		t.Fatalf("err = %v", err)
	}
}

// TestOutOfMemory: 1000 deletes get through between 10 upserts that do not; nothing is shown as complete; all is well once there is room.
func TestOutOfMemory(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	var fill, step []stream.Change
	for i := range 1000 {
		key := fmt.Sprintf(`{"id":"old-%d"}`, i)
		fill = append(fill, put(key, strings.TrimSuffix(key, "}")+`,"value":"x"}`))
		if i%100 == 0 {
			key := fmt.Sprintf(`{"id":"new-%d"}`, i)
			step = append(step, put(key, strings.TrimSuffix(key, "}")+`,"value":"`+strings.Repeat("x", 1000)+`"}`))
		}
		step = append(step, stream.Change{Op: 'd', Key: []byte(key)})
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), fill...); err != nil {
		t.Fatal(err)
	}
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	err := try(t.Context(), s, table, epoch(table, 2, false), step...)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("err = %v, want OOM, worth a retry", err)
	}
	if n := len(keys(t, c)); n != 1 {
		t.Errorf("%d keys are left, want the position alone", n)
	}
	if err := c.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Position(t.Context(), table); err != nil || at.Epoch != 1 {
		t.Fatalf("position = %+v, %v, want epoch 1", at, err)
	}
	if err := try(t.Context(), s, table, epoch(table, 2, false), step...); err != nil {
		t.Fatal(err)
	}
	if n := len(keys(t, c)); n != 11 {
		t.Fatalf("%d keys, want 10 rows and the position", n)
	}
}

// TestEncodingChanges: a full epoch turns strings into hashes, removes fields that nobody knows, and leaves a TTL alone.
func TestEncodingChanges(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	table := sinks.Table{Source: "bank", Consumer: "c", Columns: []stream.Column{id, value, more}}
	row := put(`{"id":"a"}`, `{"id":"a","value":"x","more":null}`)
	for n, encoding := range []redis.Encoding{redis.JSON, redis.Hash, redis.Hash, redis.JSON} {
		s := open(t, server.URL, redis.Options{Encoding: encoding})
		defer s.Close()
		if err := s.Prepare(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if err := try(t.Context(), s, table, epoch(table, uint64(n+1), true), row); err != nil {
			t.Fatalf("%s: %v", encoding, err)
		}
		if encoding == redis.JSON {
			if got := c.Get(t.Context(), "c:a").Val(); got != string(row.After) {
				t.Errorf("json: %q", got)
			}
			continue
		}
		if diff := cmp.Diff(map[string]string{"id": "a", "value": "x"}, c.HGetAll(t.Context(), "c:a").Val()); diff != "" {
			t.Errorf("hash (-want +got):\n%s", diff)
		}
		if n == 2 && c.TTL(t.Context(), "c:a").Val() < time.Minute {
			t.Error("the TTL is gone")
		}
		c.HSet(t.Context(), "c:a", "unknown", "x", "more", "stale")
		c.Expire(t.Context(), "c:a", time.Hour)
	}
}

// TestClientLog: what go-redis says goes to the sink's log, at debug, and to nobody where there is none.
func TestClientLog(t *testing.T) {
	var said bytes.Buffer
	for _, test := range []struct {
		log  *slog.Logger
		want string
	}{
		{slog.New(slog.NewJSONHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})), `"level":"DEBUG","msg":"redis client: `},
		{slog.New(slog.NewJSONHandler(&said, nil)), ""},
		{nil, ""},
	} {
		said.Reset()
		s := open(t, "redis://127.0.0.1:1", redis.Options{Log: test.log})
		defer s.Close()
		c := client.NewClient(&client.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
		defer c.Close()
		c.Set(t.Context(), "k", "v", time.Microsecond) // go-redis finds fault with so short a time
		if got := said.String(); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("said %q, want %q", got, test.want)
		}
	}
}
