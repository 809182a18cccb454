package faults

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// epochs looks again and again at the key that names the complete epoch in Redis.
type epochs struct {
	at    *track
	stop  context.CancelFunc
	done  sync.WaitGroup
	looks int
}

func followRedis(l *ledger, addr string) *epochs {
	ctx, stop := context.WithCancel(l.t.Context())
	e := &epochs{at: &track{name: "redis", ledger: l}, stop: stop}
	e.done.Go(func() {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		defer c.Close()
		for ctx.Err() == nil {
			e.look(ctx, c)
			pause(ctx, 50*time.Millisecond)
		}
	})
	l.t.Cleanup(e.halt)
	return e
}

func (e *epochs) look(ctx context.Context, c *redis.Client) {
	hash, err := c.HGetAll(ctx, "statebridge:bank:accounts").Result()
	if err != nil || hash["chain"] == "" {
		return
	}
	n, err := strconv.ParseInt(hash["epoch"], 10, 64)
	if err != nil {
		e.at.differ("redis says that it is at epoch %q", hash["epoch"])
		return
	}
	e.looks++
	e.at.see(position{hash["chain"], n})
}

func (e *epochs) halt() {
	e.stop()
	e.done.Wait()
}

func (e *epochs) end() {
	e.halt()
	e.at.note("looked %d times at redis, at epoch %d in the end", e.looks, e.at.last.epoch)
}
