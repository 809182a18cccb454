package e2e

import (
	"bufio"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver
)

// A table is the rows of one consumer in one target, each as JSON with sorted members, sorted.
type table []string

func (t table) String() string { return strings.Join(t, "\n") }

// The consumers that mirror the bank, and the rows that they make of the job's.
var consumers = map[string]struct {
	operator, state string
	columns         string // of the config; empty: from the schema
	row             func(key, mapKey, value any) map[string]any
}{
	"accounts": {"accounts-op", "balance", "{id: key, balance: value}", func(key, _, value any) map[string]any {
		return map[string]any{"id": key, "balance": value}
	}},
	"profiles": {"accounts-op", "profile", "", func(key, _, value any) map[string]any {
		row := map[string]any{"key": key}
		for name, v := range value.(map[string]any) {
			row[name] = v
		}
		return row
	}},
	"recent": {"accounts-op", "recent", "", func(key, _, value any) map[string]any {
		return map[string]any{"key": key, "value": value}
	}},
	"carts": {"carts-op", "items", "", func(key, mapKey, value any) map[string]any {
		return map[string]any{"key": key, "map_key": mapKey, "value": value}
	}},
}

// Bank is the config that mirrors the job whose checkpoints are in dir into a database and into Redis, in two encodings.
func Bank(dir, postgres, redis string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "source: {name: bank, max_delete_percent: 100, flink: {checkpoints: %q, poll: 100ms}}\nconsumers:\n", "file://"+dir)
	for name, c := range consumers {
		fmt.Fprintf(&b, "  - {name: %s, operator: %s, state: %s", name, c.operator, c.state)
		if c.columns != "" {
			b.WriteString(", columns: " + c.columns)
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "sinks:\n  - {name: pg, consumers: [accounts, profiles, recent, carts], atomic: source, postgres: {url: %q}}\n", postgres)
	fmt.Fprintf(&b, "  - {name: cache, consumers: [accounts], redis: {url: %q, key: \"accounts:{id}\", encoding: hash}}\n", redis)
	fmt.Fprintf(&b, "  - {name: documents, consumers: [profiles, carts], redis: {url: %q, encoding: json}}\n", redis)
	return b.String()
}

// Expected reads a snapshot's expected rows as the tables that the consumers must make of them.
func Expected(t testing.TB, file string) map[string]table {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	tables := map[string]table{}
	for s := bufio.NewScanner(r); s.Scan(); {
		var row struct {
			Operator string `json:"operator_uid"`
			State    string
			Key      any
			MapKey   any `json:"map_key"`
			Value    any
		}
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, c := range consumers {
			if c.operator == row.Operator && c.state == row.State {
				tables[name] = append(tables[name], line(c.row(row.Key, row.MapKey, row.Value)))
			}
		}
	}
	for _, rows := range tables {
		slices.Sort(rows)
	}
	return tables
}

// line is one spelling of a row: sorted members, those that are null left out, since a hash has no field for them.
func line(row map[string]any) string {
	for name, v := range row {
		if v == nil {
			delete(row, name)
		}
	}
	b, err := json.Marshal(row)
	if err != nil {
		panic(err) // it was JSON before
	}
	return string(b)
}

func respell(s string) (string, error) {
	var row map[string]any
	if err := json.Unmarshal([]byte(s), &row); err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return line(row), nil
}

// postgresTable reads a table in one statement, so in one snapshot.
func postgresTable(ctx context.Context, db *pgx.Conn, name string) (table, error) {
	rows, err := db.Query(ctx, "SELECT row_to_json(t)::text FROM "+pgx.Identifier{name}.Sanitize()+" t")
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for i := range lines {
		if lines[i], err = respell(lines[i]); err != nil {
			return nil, err
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// postgresTables reads all tables in one statement, so in one snapshot.
func postgresTables(ctx context.Context, db *pgx.Conn) (map[string]table, error) {
	var parts []string
	for name := range consumers {
		parts = append(parts, fmt.Sprintf("SELECT '%s', row_to_json(t)::text FROM %s t", name, pgx.Identifier{name}.Sanitize()))
	}
	rows, err := db.Query(ctx, strings.Join(parts, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	tables := map[string]table{}
	var name, text string
	_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		row, err := respell(text)
		tables[name] = append(tables[name], row)
		return err
	})
	for _, rows := range tables {
		slices.Sort(rows)
	}
	return tables, err
}

// spell writes tables as one text.
func spell(tables map[string]table) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(consumers)) {
		fmt.Fprintf(&b, "%s:\n%s\n", name, tables[name])
	}
	return b.String()
}

// redisTable reads the rows whose keys start with the consumer's name and a colon, be they hashes or JSON.
func redisTable(ctx context.Context, db *redis.Client, name string) (table, error) {
	var rows table
	for cursor := uint64(0); ; {
		keys, next, err := db.Scan(ctx, cursor, name+":*", 1000).Result()
		if err != nil {
			return nil, err
		}
		found, err := redisRows(ctx, db, keys)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil // a scan may show a key twice
}

// redisRows reads many keys in one go; a command for the other kind of row gives an error.
func redisRows(ctx context.Context, db *redis.Client, keys []string) (table, error) {
	texts, hashes := make([]*redis.StringCmd, len(keys)), make([]*redis.MapStringStringCmd, len(keys))
	_, err := db.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			texts[i], hashes[i] = p.Get(ctx, key), p.HGetAll(ctx, key)
		}
		return nil
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, err
	}
	var rows table
	for i := range keys {
		row, err := redisRow(texts[i], hashes[i])
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func redisRow(text *redis.StringCmd, hash *redis.MapStringStringCmd) (string, error) {
	if text.Err() == nil {
		return respell(text.Val())
	}
	if hash.Err() != nil {
		return "", hash.Err()
	}
	row := map[string]any{}
	for field, text := range hash.Val() {
		if json.Unmarshal([]byte(text), new(float64)) == nil {
			row[field] = json.Number(text)
		} else {
			row[field] = text
		}
	}
	return line(row), nil
}

// SQLiteAccounts reads the table of accounts from a file.
func SQLiteAccounts(ctx context.Context, file string) (table, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found, err := db.QueryContext(ctx, "SELECT json_object('id', id, 'balance', balance) FROM accounts")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows table
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			return nil, err
		}
		row, err := respell(text)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.Sort(rows)
	return rows, found.Err()
}

// Targets are the servers that the bank is mirrored into.
type Targets struct {
	t        testing.TB
	postgres string // connected to for each look: the server may have been restarted since the last
	redis    *redis.Client

	SQLite string // file that holds the accounts as well; empty: none does
}

// Connect opens the targets for reading.
func Connect(t testing.TB, postgresURL, redisURL string) *Targets {
	t.Helper()
	o, err := redis.ParseURL(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	cache := redis.NewClient(o)
	t.Cleanup(func() {
		if err := cache.Close(); err != nil {
			t.Errorf("close redis: %v", err)
		}
	})
	return &Targets{t: t, postgres: postgresURL, redis: cache}
}

// Check fails the test unless all tables in all targets are as expected.
func (g *Targets) Check(want map[string]table) {
	g.t.Helper()
	if fault := g.Differ(want); fault != "" {
		g.t.Fatal(fault)
	}
}

// Await waits until all tables in all targets are as expected, and fails the test with the first difference if the process does not get them there.
func (g *Targets) Await(p *Process, want map[string]table) {
	g.t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(100 * time.Millisecond) {
		p.Running()
		fault := g.Differ(want)
		if fault == "" {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("after %v: %s", Patience, fault)
		}
	}
}

// Differ says where the targets first differ from what they should hold; "" when they do not.
func (g *Targets) Differ(want map[string]table) string {
	ctx := g.t.Context()
	db, err := pgx.Connect(ctx, g.postgres)
	if err != nil {
		return err.Error()
	}
	defer db.Close(context.WithoutCancel(ctx))
	for name := range consumers {
		got, err := postgresTable(ctx, db, name)
		if err != nil {
			return fmt.Sprintf("postgres table %s: %v", name, err)
		}
		if fault := want[name].differs(got); fault != "" {
			return fmt.Sprintf("postgres table %s: %s", name, fault)
		}
	}
	for _, name := range []string{"accounts", "profiles", "carts"} {
		got, err := redisTable(ctx, g.redis, name)
		if err != nil {
			return fmt.Sprintf("redis keys %s:*: %v", name, err)
		}
		if fault := want[name].differs(got); fault != "" {
			return fmt.Sprintf("redis keys %s:*: %s", name, fault)
		}
	}
	if g.SQLite == "" {
		return ""
	}
	got, err := SQLiteAccounts(ctx, g.SQLite)
	if err != nil {
		return fmt.Sprintf("sqlite table accounts: %v", err)
	}
	if fault := want["accounts"].differs(got); fault != "" {
		return "sqlite table accounts: " + fault
	}
	return ""
}

// differs says how got is another table; both are sorted.
func (t table) differs(got table) string {
	if slices.Equal(t, got) {
		return ""
	}
	for _, row := range t {
		if _, ok := slices.BinarySearch(got, row); !ok {
			return fmt.Sprintf("%d rows, want %d; missing %s", len(got), len(t), row)
		}
	}
	for _, row := range got {
		if _, ok := slices.BinarySearch(t, row); !ok {
			return fmt.Sprintf("%d rows, want %d; not expected %s", len(got), len(t), row)
		}
	}
	return fmt.Sprintf("%d rows, want %d, some more than once", len(got), len(t))
}
