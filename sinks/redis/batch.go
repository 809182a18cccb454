package redis

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// On a server one transaction of many commands, or one script call, changes many rows; it holds up other clients for a millisecond or two. In a cluster
// each row has a call of its own, and a pipeline carries many.
const (
	callRows     = 250
	pipelineRows = 1000
	batchBytes   = 1 << 20
)

// batch is what travels at once: the commands of one transaction, or a pipeline of calls.
type batch struct {
	rows  int
	size  int
	gone  []string // keys of deleted rows
	plain plain
	calls []call
	keys  []any // of the rows of the calls, for the set of keys that a full epoch has seen
	has   map[string]bool
	texts texts
}

// call is one run of the rows script.
type call struct {
	keys   []any
	args   []any
	writes bool // not all of it is deletes
}

func newBatch() *batch { return &batch{has: map[string]bool{}} }

func (b *batch) empty() bool { return b.rows == 0 }

func (b *batch) count(size int) { b.rows, b.size = b.rows+1, b.size+size }

// add puts a row into the batch: into the one call that a server gets, or into a call of its own.
func (b *batch) add(key string, size int, single bool, args ...any) {
	if len(b.calls) == 0 || !single {
		b.calls = append(b.calls, call{})
	}
	c := &b.calls[len(b.calls)-1]
	c.keys, c.args = append(c.keys, key), append(c.args, args...)
	b.keys, b.has[key] = append(b.keys, key), true
	b.count(size)
	if args[0] == "d" {
		b.gone = append(b.gone, key)
	} else {
		c.writes = true
	}
}

// deletes is the part of a batch that a server without memory still takes.
func (b *batch) deletes(single bool) *batch {
	d := newBatch()
	for _, key := range b.gone {
		d.add(key, len(key), single, "d")
	}
	return d
}

// send runs the calls and checks the reply of each. It says how many of the keys had been there.
// guard is the key that the header's token is checked in, "" for none; seen that of the set, likewise.
func (b *batch) send(ctx context.Context, client redis.UniversalClient, header []any, guard, seen string) (there int64, err error) {
	b.texts.settle()
	pipe := client.Pipeline()
	replies := make([]*redis.Cmd, 0, len(b.calls))
	for _, c := range b.calls {
		flag := ""
		if c.writes {
			flag = "w"
		}
		words := make([]any, 0, 5+len(c.keys)+len(header)+len(c.args))
		words = append(words, "evalsha", rowsScript.Hash())
		if guard != "" {
			words = append(words, strconv.Itoa(len(c.keys)+1), guard)
		} else {
			words = append(words, strconv.Itoa(len(c.keys)))
		}
		words = append(append(words, c.keys...), header...)
		words = append(append(words, flag), c.args...)
		replies = append(replies, pipe.Do(ctx, words...))
	}
	if seen != "" {
		pipe.SAdd(ctx, seen, b.keys...)
	}
	if _, err := pipe.Exec(ctx); err != nil { // the first error of any of them
		return 0, err
	}
	for _, r := range replies {
		n, err := r.Int64()
		if err != nil {
			return 0, err
		}
		there += n
	}
	return there, nil
}
