package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// transaction writes the rows of an epoch as they come, and the position at the end. One batch is on its way while the next one is built.
type transaction struct {
	sinks.StandIns
	sink   *Sink
	client redis.UniversalClient
	table  sinks.Table
	keys   *table
	to     stream.Epoch
	token  string // of the writer
	single bool   // a server, not a cluster
	guard  string // key that each call checks the token in; "" in a cluster
	head   []any
	limit  int    // bytes of the longest value
	seen   string // key of the set of keys of a full epoch; "" when no row can be left over

	watched  *watched // nil in a cluster, and where a full epoch replaces rows
	swap     *swap    // nil where each row is seen by itself
	all, key *jsonscan.Columns
	keyed    []int // where the key columns stand among all
	part     [][]byte
	text     []byte // of the key at hand
	tried    []byte // room to see whether a value can be written
	next     *batch
	spare    plain     // room of a batch that has arrived
	way      chan sent // of the batch on its way; nil when there is none
	rows     int64
	memory   error // the server has no room: only deletes go on, and the epoch fails with this at its end
}

type sent struct {
	batch *batch
	there int64
	err   error
}

// Begin takes the right to write from whoever had it.
func (s *Sink) Begin(ctx context.Context, t sinks.Table, from sinks.Position, to stream.Epoch) (sinks.Transaction, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, classify(err)
	}
	s.mu.Lock()
	keys, limit := s.tables[positionKey(t)], s.limit
	s.mu.Unlock()
	if keys == nil {
		return nil, fmt.Errorf("consumer %q is not prepared", t.Consumer)
	}
	_, cluster := client.(*redis.ClusterClient)
	x := &transaction{
		StandIns: sinks.StandIns{On: s.options.BadValue}, sink: s, client: client, table: t, keys: keys, to: to, token: rand.Text(), single: !cluster, limit: limit, next: newBatch(),
	}
	x.takeApart()
	if x.head = x.header(); x.single {
		x.guard = positionKey(t)
	}
	if s.options.Publish == Swap {
		x.swap = &swap{x: x, before: from.Revision}
	}
	if err := x.begin(ctx, from); err != nil {
		s.dropLinks()
		return nil, classify(err)
	}
	return x, nil
}

// takeApart makes what takes rows apart.
func (x *transaction) takeApart() {
	x.table.Columns = x.keys.columns
	x.all, x.key = row.NewScanner(x.keys.columns, x.keys.ignored...), row.NewScanner(sqltable.Keys(x.keys.columns))
	for i, c := range x.keys.columns {
		if c.Key {
			x.keyed, x.part = append(x.keyed, i), append(x.part, nil)
		}
	}
}

func (x *transaction) begin(ctx context.Context, from sinks.Position) error {
	err := masters(ctx, x.client, func(ctx context.Context, c *redis.Client) error { return rowsScript.Load(ctx, c).Err() })
	if err != nil {
		return err
	}
	err = beginScript.run(ctx, x.client, positionKey(x.table), strconv.FormatUint(from.Revision, 10), x.token)
	if err != nil {
		return err
	}
	if x.swap != nil {
		return errors.Join(copyScript.Load(ctx, x.client).Err(), x.swap.look(ctx))
	}
	replaces := x.to.Full
	if server, ok := x.client.(*redis.Client); ok {
		if replaces {
			if replaces, err = x.anyKey(ctx); err != nil {
				return err
			}
		}
		if !replaces {
			return x.watch(ctx, server)
		}
	}
	if !replaces {
		return nil
	}
	x.seen = positionKey(x.table) + ":seen"
	return x.client.Unlink(ctx, x.seen).Err()
}

// plainly says whether rows change by plain commands. A server without memory takes deletes in a script, and nothing behind MULTI.
func (x *transaction) plainly() bool { return x.watched != nil && x.memory == nil }

// deliver sends a batch, and says how many of the rows of a full epoch were there before.
func (x *transaction) deliver(ctx context.Context, b *batch) (there int64, err error) {
	if len(b.plain.bytes) > 0 {
		return x.watched.send(b)
	}
	return b.send(ctx, x.client, x.head, x.guard, x.seen)
}

// Apply adds changes to the batch and sends it when it is full. In a cluster two changes of one key never share a batch: what the servers pass on to each
// other may come in another order.
func (x *transaction) Apply(ctx context.Context, changes []stream.Change) error {
	if len(changes) > 0 {
		if err := x.open(ctx); err != nil {
			return classify(err)
		}
	}
	return x.table.Each(ctx, changes, func(c stream.Change) error { return x.change(ctx, c) })
}

// open makes the other side ready for rows, where there are two.
func (x *transaction) open(ctx context.Context) error {
	if x.swap == nil {
		return nil
	}
	return x.swap.open(ctx, x.client.(*redis.Client)) // Prepare has seen to that
}

func (x *transaction) change(ctx context.Context, c stream.Change) error {
	key, values, err := x.locate(c)
	if err != nil || x.memory != nil && c.Op != 'd' {
		return err
	}
	if x.full() || !x.single && x.next.has[string(key)] {
		if err := x.send(ctx); err != nil {
			return err
		}
	}
	if err := x.add(c, key, values); err != nil {
		return err
	}
	x.rows++
	return nil
}

func (x *transaction) full() bool {
	limit := pipelineRows
	if x.single && !x.plainly() {
		limit = callRows
	}
	return x.next.rows >= limit || x.next.size >= batchBytes
}

// send waits for the batch before and starts this one, so that batches take effect in order.
func (x *transaction) send(ctx context.Context) error {
	if err := x.wait(ctx); err != nil || x.next.empty() {
		return err
	}
	b, way := x.next, make(chan sent, 1)
	go func() {
		there, err := x.deliver(ctx, b)
		way <- sent{batch: b, there: there, err: err}
	}()
	x.next, x.way = newBatch(), way
	x.next.plain, x.spare = x.spare, plain{}
	return nil
}

// wait ends the batch on its way. When the server is out of memory the deletes are sent nevertheless: they make room.
func (x *transaction) wait(ctx context.Context) error {
	if x.way == nil {
		return nil
	}
	done := <-x.way
	x.way = nil
	x.spare = done.batch.plain.room()
	if redis.HasErrorPrefix(done.err, "OOM") && !x.to.Full && x.swap == nil { // on a hidden side a delete makes no room: its key is noted
		if x.memory == nil {
			x.memory, x.next = classify(done.err), x.next.deletes(x.single)
		}
		if left := done.batch.deletes(x.single); !left.empty() {
			_, err := x.deliver(ctx, left)
			return classify(err)
		}
		return nil
	}
	if done.err == nil && done.there > 0 && x.to.Full && x.seen == "" {
		return x.twice()
	}
	return classify(done.err)
}

// twice: in a full epoch each row comes once.
func (x *transaction) twice() error {
	return sinks.Permanent(fmt.Errorf("consumer %q, epoch %d: two rows of the state have the same Redis key", x.table.Consumer, x.to.Number))
}

// Commit sends the rest, deletes what a full epoch lacks, and writes the position.
func (x *transaction) Commit(ctx context.Context) error {
	if x.to.Full || x.swap != nil && x.swap.behind == everything { // and the rows of the version before are to go
		if err := x.open(ctx); err != nil {
			return classify(err)
		}
	}
	if err := errors.Join(x.send(ctx), x.wait(ctx), x.memory); err != nil {
		return err
	}
	if x.seen != "" {
		if err := x.sweep(ctx); err != nil {
			return classify(err)
		}
	}
	x.release()
	at := x.to.Snapshot
	members := []any{
		x.token, "chain", x.to.Chain, "epoch", x.to.Number, "job", at.Job, "checkpoint_id", at.CheckpointID, "location", at.Location,
		"savepoint", at.Savepoint, "committed_at", time.Now().UTC().Format(time.RFC3339Nano),
	}
	if x.swap != nil {
		sides, err := x.swap.finish(ctx)
		if err != nil {
			return classify(err)
		}
		defer x.swap.committed()
		members = append(members, sides...)
	}
	return classify(commitScript.run(ctx, x.client, positionKey(x.table), members...))
}

// Rollback waits for the batch on its way. The rows that are written stay; the epoch comes again and writes the same.
func (x *transaction) Rollback(ctx context.Context) error {
	_ = x.wait(ctx) // the error that led here has been told
	x.release()
	return nil
}

// release gives back the connection on which rows have changed, if it is still good. If not, others that lead there may be no better.
func (x *transaction) release() {
	w := x.watched
	switch x.watched = nil; {
	case w == nil:
	case w.broken:
		w.close()
		x.sink.dropLinks()
	default:
		x.sink.giveLink(w.link)
	}
}

// locate gives a change's key, and its values unless it deletes. They are valid until the next one.
func (x *transaction) locate(c stream.Change) (key []byte, values [][]byte, err error) {
	keys := x.part
	if c.Op == 'd' {
		keys, err = x.key.Scan(c.Key)
	} else if values, err = x.values(c); err == nil {
		for i, at := range x.keyed {
			keys[i] = values[at]
		}
	}
	if err != nil {
		return nil, nil, x.refuse(c, "", err)
	}
	key, column, err := x.rowKey(keys)
	if err != nil {
		return nil, nil, x.refuse(c, column, err)
	}
	return key, values, nil
}

// add puts a change into the batch.
func (x *transaction) add(c stream.Change, key []byte, values [][]byte) error {
	if c.Op == 'd' {
		x.remove(key)
		return nil
	}
	if x.plainly() {
		return x.addPlain(c, key, values)
	}
	args, column, err := x.form(c, values)
	if err != nil {
		x.next.texts.drop()
		return x.refuse(c, column, err)
	}
	x.next.add(string(key), len(key)+len(c.After), x.single, args...)
	return nil
}

// remove puts the deletion of a key into the batch.
func (x *transaction) remove(key []byte) {
	if x.plainly() {
		x.removePlain(key)
	} else {
		x.next.add(string(key), len(key), x.single, "d")
	}
}

func (x *transaction) refuse(c stream.Change, column string, err error) error {
	return sinks.Refuse(x.table, x.to, c, column, err.Error())
}

// values are those of the columns that are written.
func (x *transaction) values(c stream.Change) ([][]byte, error) {
	values, err := x.all.Scan(c.After)
	if err != nil {
		return nil, err
	}
	values = values[:len(x.keys.columns)]
	x.fit(values)
	return values, nil
}

// rowKey makes the key of the values of the key columns. An error comes with the column that it is about, if it is one.
func (x *transaction) rowKey(values [][]byte) (key []byte, column string, err error) {
	if i := slices.IndexFunc(values, func(v []byte) bool { return v == nil }); i >= 0 {
		return nil, x.table.Columns[x.keyed[i]].Name, sinks.ErrNullKey
	}
	x.text, err = x.keys.append(x.text[:0], values)
	return x.text, "", err
}
