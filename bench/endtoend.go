package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

const endToEndGoal = 0.6 // of the slowest part

// endToEnd is run --once: a snapshot into an empty table, against each part of that way by itself, with the same rows: reading the snapshot, publishing, applying.
func (b *bench) endToEnd(ctx context.Context, t *table, keys int) (err error) {
	e := &ending{bench: b, keys: keys}
	if e.pair, err = b.snapshots(ctx, keys); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.open(ctx); err != nil {
		return err
	}
	if _, err := e.whole(ctx); err != nil { // the parts need its rows
		return err
	}
	if err := e.load(ctx); err != nil {
		return err
	}
	whole, again, read := &entrant{run: e.whole}, &entrant{run: e.whole}, b.ours(1, "export", e.pair.next)
	parts := []*entrant{read, {run: e.publish}, {run: e.apply}}
	if err := contest(ctx, b.rounds, b.limit, append(parts, whole, again)...); err != nil {
		return err
	}
	e.report(t, whole, again, parts)
	return nil
}

// ending has the servers, and the epoch that run --once has published.
type ending struct {
	*bench
	keys   int
	pair   pair
	nats   *natsProcess
	bus    *stream.Bus
	server *sinktest.Postgres
	conn   *pgx.Conn
	epoch  stream.Epoch
	rows   []stream.Change // by partition
}

func (e *ending) open(ctx context.Context) (err error) {
	if e.nats, err = startNATS(ctx, e.dir); err != nil {
		return err
	}
	if e.bus, err = stream.Connect(ctx, stream.Options{URL: e.nats.url}, quiet); err != nil {
		return err
	}
	if e.server, err = sinktest.NewPostgres(ctx); err != nil {
		return err
	}
	e.conn, err = pgx.Connect(ctx, e.server.URL)
	return err
}

func (e *ending) close() (err error) {
	if e.bus != nil {
		e.bus.Close()
	}
	if e.nats != nil {
		err = e.nats.stop()
	}
	if e.conn != nil {
		err = errors.Join(err, e.conn.Close(context.Background()))
	}
	if e.server != nil {
		err = errors.Join(err, e.server.Close())
	}
	return errors.Join(err, os.RemoveAll(e.data()))
}

func (e *ending) data() string { return filepath.Join(e.dir, "once") }

// clear forgets everything that an earlier run has left.
func (e *ending) clear(ctx context.Context) error {
	_, err := e.conn.Exec(ctx, "DROP SCHEMA IF EXISTS bench, statebridge CASCADE; CREATE SCHEMA bench")
	return errors.Join(err, e.nats.clear(ctx), os.RemoveAll(e.data()), os.MkdirAll(e.data(), 0o755))
}

// whole runs the program, from its start to its end.
func (e *ending) whole(ctx context.Context) (sample, error) {
	if err := e.clear(ctx); err != nil {
		return sample{}, err
	}
	config := fmt.Sprintf(`
data_dir: %s
nats: {url: "%s"}
source: {name: bank, flink: {checkpoints: "%s"}}
consumers: [{name: accounts, operator: bulk-op, state: profile}]
sinks: [{name: pg, consumers: [accounts], postgres: {url: "%s", schema: bench}}]
`, e.data(), e.nats.url, filepath.Dir(e.pair.next), e.server.URL)
	file := filepath.Join(e.data(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return sample{}, err
	}
	s, err := measure(ctx, nil, nil, e.statebridge, "run", "--once", "--config", file)
	if err != nil {
		return s, err
	}
	return s, e.complete(ctx)
}

func (e *ending) complete(ctx context.Context) error {
	var rows int
	err := e.conn.QueryRow(ctx, "SELECT count(*) FROM bench.accounts").Scan(&rows)
	if err == nil && rows != e.keys {
		err = fmt.Errorf("%d rows in the table, %d expected", rows, e.keys)
	}
	return err
}

// load reads what was published.
func (e *ending) load(ctx context.Context) error {
	source, err := e.bus.Source(ctx, "bank")
	if err != nil {
		return err
	}
	if e.epoch, err = source.Next(ctx, "accounts", "", 0); err != nil {
		return err
	}
	for batch, err := range source.Changes(ctx, e.epoch) {
		if err != nil {
			return err
		}
		for _, c := range batch {
			c.Key, c.After = slices.Clone(c.Key), slices.Clone(c.After)
			e.rows = append(e.rows, c)
		}
	}
	slices.SortStableFunc(e.rows, func(a, b stream.Change) int { return a.Partition - b.Partition })
	pack(e.rows)
	return nil
}

func (e *ending) publish(ctx context.Context) (sample, error) {
	if err := e.clear(ctx); err != nil {
		return sample{}, err
	}
	source, err := e.bus.Source(ctx, "bank")
	if err != nil {
		return sample{}, err
	}
	p, err := source.Publisher(ctx, "accounts")
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	_, err = publishChanges(ctx, p, e.epoch, e.rows)
	return sample{wall: time.Since(start)}, err
}

func (e *ending) apply(ctx context.Context) (sample, error) {
	if err := e.clear(ctx); err != nil {
		return sample{}, err
	}
	sink, err := postgres.Open(ctx, e.server.URL, postgres.Options{Schema: "bench"})
	if err != nil {
		return sample{}, err
	}
	defer sink.Close()
	start := time.Now()
	err = applyChanges(ctx, sink, e.epoch, e.rows)
	return sample{wall: time.Since(start)}, errors.Join(err, e.complete(ctx))
}

func applyChanges(ctx context.Context, sink sinks.Sink, to stream.Epoch, rows []stream.Change) error {
	table := sinks.Table{Source: to.Source, Consumer: to.Consumer, Columns: to.Columns}
	if err := sink.Prepare(ctx, table); err != nil {
		return err
	}
	from, err := sink.Position(ctx, table)
	if err != nil {
		return err
	}
	tx, err := sink.Begin(ctx, table, from, to)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(rows, 1000) {
		if err := tx.Apply(ctx, batch); err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return nil
}

func (e *ending) report(t *table, whole, again *entrant, parts []*entrant) {
	own := whole.each(seconds)
	slowest := slices.MaxFunc(parts, func(a, b *entrant) int { return int(1e9 * (median(a.each(seconds)) - median(b.each(seconds)))) })
	for i, name := range []string{"reading alone", "publishing alone", "applying alone"} {
		other, goal := parts[i].each(seconds), 0.0
		if parts[i] == slowest {
			goal = endToEndGoal
		}
		t.add(row{what: "run --once into Postgres: rows/s, " + name, data: count(e.keys) + " rows", other: rate(e.keys, median(other)), ours: rate(e.keys, median(own)),
			ratio: compare(other, own), control: compare(again.each(seconds), own).median, goal: goal})
	}
}
