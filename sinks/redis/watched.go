package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
)

// watched is a connection to one server on which rows change by plain commands, for half of what the same rows cost the server in a script.
//
//	WATCH position, HGET position writer │ MULTI, rows, EXEC, WATCH, HGET │ MULTI, rows, EXEC, WATCH, HGET │ …
//
// A batch is sent once the reply before it has named us as the writer. Whoever takes the right to write changes the position, and an EXEC
// behind that does nothing.
type watched struct {
	conn  *redis.Conn
	key   string // position
	token string // ours
	full  bool   // each row is there once, and nothing was before
	names []any  // of the fields
	gone  []any  // fields that no row has any more

	behind string // set in which keys are noted, without their beginning; "" for none
	prefix string // that beginning
}

// watch begins: the writer must be ours already.
func (x *transaction) watch(ctx context.Context, client *redis.Client) error {
	w := &watched{conn: client.Conn(), key: positionKey(x.table), token: x.token, full: x.to.Full}
	for _, c := range x.table.Columns {
		w.names = append(w.names, c.Name)
	}
	for _, name := range x.keys.gone {
		w.gone = append(w.gone, name)
	}
	if x.swap != nil && !x.to.Full {
		w.behind, w.prefix = behindKey(x.table), x.keys.texts[0]
	}
	pipe := w.conn.Pipeline()
	writer := w.renew(ctx, pipe)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return errors.Join(err, w.conn.Close())
	}
	x.watched = w
	return w.owns(writer)
}

// renew makes the server watch the position from now on, and then tell whose the right to write is.
func (w *watched) renew(ctx context.Context, pipe redis.Pipeliner) *redis.StringCmd {
	pipe.Do(ctx, "watch", w.key)
	return pipe.HGet(ctx, w.key, "writer")
}

func (w *watched) owns(writer *redis.StringCmd) error {
	switch token, err := writer.Result(); {
	case errors.Is(err, redis.Nil) || err == nil && token != w.token:
		return sinks.ErrFenced
	default:
		return err
	}
}

// close gives the connection back, with nothing watched on it.
func (w *watched) close(ctx context.Context) error {
	return errors.Join(w.conn.Do(ctx, "unwatch").Err(), w.conn.Close())
}

// send changes the rows of a batch, all or none, and says how many were there before where none should.
func (w *watched) send(ctx context.Context, b *batch) (there int64, err error) {
	b.texts.settle()
	pipe := w.conn.Pipeline()
	pipe.Do(ctx, "multi")
	var fresh []int64 // what each command replies in a full epoch, if its row is new
	for _, c := range b.calls {
		fresh = w.rows(ctx, pipe, c, fresh)
	}
	if w.behind != "" {
		pipe.Do(ctx, w.note(b)...)
	}
	done := pipe.Do(ctx, "exec")
	writer := w.renew(ctx, pipe)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) { // the first error of any command
		return 0, err
	}
	replies, err := done.Slice()
	if errors.Is(err, redis.Nil) { // somebody has changed the position
		return 0, sinks.ErrFenced
	}
	if err != nil {
		return 0, err
	}
	for i, reply := range replies {
		if err, failed := reply.(error); failed {
			return 0, err
		}
		if n, counted := reply.(int64); w.full && (reply == nil || counted && n != fresh[i]) {
			there++
		}
	}
	return there, w.owns(writer)
}

// note gives the command that notes the keys of a batch.
func (w *watched) note(b *batch) []any {
	words := append(make([]any, 0, 2+len(b.keys)), "sadd", w.behind)
	for _, key := range b.keys {
		words = append(words, strings.TrimPrefix(key.(string), w.prefix))
	}
	return words
}

// rows puts the rows of a call into the pipeline, as the rows script would change them.
func (w *watched) rows(ctx context.Context, pipe redis.Pipeliner, c call, fresh []int64) []int64 {
	args := c.args
	for _, key := range c.keys {
		op := args[0]
		args = args[1:]
		switch op {
		case "d":
			pipe.Do(ctx, "del", key)
			fresh = append(fresh, 0)
		case "s":
			how := "keepttl"
			if w.full {
				how = "nx"
			}
			pipe.Do(ctx, "set", key, args[0], how)
			fresh, args = append(fresh, 0), args[1:]
		default:
			mask := ""
			if op == "n" {
				mask, args = args[0].(string), args[1:]
			}
			n, none := w.hash(ctx, pipe, key, mask, args)
			fresh, args = append(fresh, int64(n)), args[n:]
			if !w.full && len(none) > 2 {
				pipe.Do(ctx, none...)
				fresh = append(fresh, 0)
			}
		}
	}
	return fresh
}

// hash sets the fields that have a value. It says how many these are, and gives the command that removes the others.
func (w *watched) hash(ctx context.Context, pipe redis.Pipeliner, key any, mask string, values []any) (n int, none []any) {
	words := append(make([]any, 0, 2+2*len(w.names)), "hset", key)
	none = append(make([]any, 0, 2+len(w.gone)), "hdel", key)
	for i, name := range w.names {
		if mask != "" && mask[i] == '0' {
			none = append(none, name)
			continue
		}
		words = append(words, name, values[n])
		n++
	}
	pipe.Do(ctx, words...)
	return n, append(none, w.gone...)
}
