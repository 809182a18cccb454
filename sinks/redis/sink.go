package redis

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// Encoding is the form of a row.
type Encoding string

// The forms.
const (
	Hash   Encoding = "hash"
	JSON   Encoding = "json"
	String Encoding = "string"
)

// Options say how rows are kept; the zero value works.
type Options struct {
	Key         string        // template; "": the consumer's name and the key columns, with colons between
	Encoding    Encoding      // "": Hash
	Publish     Publish       // "": EachRow
	Grace       time.Duration // with Swap: how long rows stay as they are once readers are sent elsewhere
	SchemaDrift sinks.Drift
	BadValue    sinks.BadValue
	TLS         *tls.Config // for a rediss address
	// Log gets, at debug, what go-redis says of its connections; nil: nobody. go-redis has one logger in a process: that of the sink opened last.
	Log *slog.Logger
}

// Sink is a Redis server, a cluster, or the master that sentinels name.
type Sink struct {
	url     string
	options Options

	mu     sync.Mutex
	client redis.UniversalClient
	idle   []*link
	limit  int               // bytes of the longest value that the server takes
	tables map[string]*table // by position key
	turns  turns
}

// table is what Prepare found out about a consumer.
type table struct {
	*template
	columns []stream.Column // that are written
	ignored []stream.Column // that are not, though the rows have them
	gone    []string        // fields that older epochs wrote
}

// Open reads an address: redis, rediss or unix. Whether it is a cluster is found out with the first use, so a server that is away for now is no error here.
func Open(_ context.Context, url string, o Options) (*Sink, error) {
	if _, err := redis.ParseURL(url); err != nil && !strings.Contains(url, "master_name=") {
		return nil, sinks.Permanent(fmt.Errorf("redis address: %w", masked(err, url)))
	}
	if o.Encoding == "" {
		o.Encoding = Hash
	}
	if !slices.Contains([]Encoding{Hash, JSON, String}, o.Encoding) {
		return nil, sinks.Permanent(fmt.Errorf("redis encoding %q is none of hash, json and string", o.Encoding))
	}
	if !o.SchemaDrift.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("schema drift %q is none of add, stop and ignore", o.SchemaDrift))
	}
	if !o.BadValue.Valid() {
		return nil, sinks.Permanent(fmt.Errorf("on bad value %q is neither reject nor replace", o.BadValue))
	}
	if !slices.Contains([]Publish{"", EachRow, Swap}, o.Publish) {
		return nil, sinks.Permanent(fmt.Errorf("redis publish %q is neither rows nor swap", o.Publish))
	}
	redirect(o.Log)
	return &Sink{url: url, options: o, tables: map[string]*table{}}, nil
}

// Close closes the connections.
func (s *Sink) Close() error {
	s.dropLinks()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// Prepare checks the template and the encoding against the columns, and that no other consumer uses the same keys.
func (s *Sink) Prepare(ctx context.Context, t sinks.Table) error {
	if len(sqltable.Keys(t.Columns)) == 0 {
		return sinks.Permanent(fmt.Errorf("consumer %q: no column is part of the key", t.Consumer))
	}
	keys, err := s.template(t)
	if err != nil {
		return err
	}
	if s.options.Publish == Swap {
		client, err := s.connect(ctx)
		if err == nil {
			err = swappable(ctx, client)
		}
		if err != nil {
			return classify(err)
		}
	}
	kept, ignored, gone, err := s.written(ctx, t)
	if err != nil {
		return classify(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, o := range s.tables {
		if other != positionKey(t) && (strings.HasPrefix(o.texts[0], keys.texts[0]) || strings.HasPrefix(keys.texts[0], o.texts[0])) {
			return sinks.Permanent(fmt.Errorf("consumer %q: its key template, with %q at its beginning, begins like that of %s, whose keys it would delete", t.Consumer, keys.texts[0], strings.TrimPrefix(other, own)))
		}
	}
	s.tables[positionKey(t)] = &table{template: keys, columns: kept, ignored: ignored, gone: gone}
	return nil
}

// template is what makes the keys of a table's rows.
func (s *Sink) template(t sinks.Table) (*template, error) {
	text := s.options.Key
	if text == "" {
		text = defaultKey(t)
	}
	return parseTemplate(text, t)
}

// written records which fields are written from now on. It gives them, those that are left out, and those that only older epochs wrote.
func (s *Sink) written(ctx context.Context, t sinks.Table) (kept, ignored []stream.Column, gone []string, err error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	names, err := known(ctx, client, t)
	if err != nil {
		return nil, nil, nil, err
	}
	has := func(c stream.Column) bool { return names == nil || slices.Contains(names, c.Name) }
	kept, ignored = s.options.SchemaDrift.Split(t.Columns, has)
	if beside := len(kept) - len(sqltable.Keys(kept)); s.options.Encoding == String && beside != 1 {
		return nil, nil, nil, sinks.Permanent(fmt.Errorf("consumer %q: encoding string needs exactly one column beside the key, there are %d", t.Consumer, beside))
	}
	all, lacks := slices.Clone(names), []stream.Column(nil)
	for _, c := range kept {
		if !slices.Contains(names, c.Name) {
			all = append(all, c.Name)
		}
		if !has(c) {
			lacks = append(lacks, c)
		}
	}
	if err := s.options.SchemaDrift.Check(t, lacks, nil); err != nil {
		return nil, nil, nil, err
	}
	if len(all) > len(names) {
		encoded, err := json.Marshal(all)
		if err != nil {
			return nil, nil, nil, err
		}
		if err := client.HSet(ctx, positionKey(t), "columns", encoded).Err(); err != nil {
			return nil, nil, nil, err
		}
	}
	return kept, ignored, sqltable.Gone(names, t.Columns), nil
}

// known gives the columns that were ever written; nil before the first epoch.
func known(ctx context.Context, client redis.UniversalClient, t sinks.Table) (names []string, err error) {
	text, err := client.HGet(ctx, positionKey(t), "columns").Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	return names, err
}

// Position reads the hash that names the last complete epoch. A server that was emptied has none.
func (s *Sink) Position(ctx context.Context, t sinks.Table) (sinks.Position, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return sinks.Position{}, classify(err)
	}
	m, err := client.HGetAll(ctx, positionKey(t)).Result()
	if err != nil {
		return sinks.Position{}, classify(err)
	}
	number := func(member string) (n uint64) {
		if m[member] != "" && err == nil {
			n, err = strconv.ParseUint(m[member], 10, 64)
		}
		return n
	}
	p := sinks.Position{Chain: m["chain"], Epoch: number("epoch"), Revision: number("revision"), Snapshot: stream.SnapshotRef{
		Job: m["job"], CheckpointID: int64(number("checkpoint_id")), Location: m["location"], Savepoint: m["savepoint"] == "1",
	}}
	if err != nil {
		return sinks.Position{}, sinks.Permanent(fmt.Errorf("redis key %q was not written by Statebridge: %w", positionKey(t), err))
	}
	if p.Chain != "" && !s.keptAsNow(t, m["prefix"]) {
		return sinks.Position{Revision: p.Revision, Lost: sinks.KeptOtherwise}, nil
	}
	return p, nil
}
