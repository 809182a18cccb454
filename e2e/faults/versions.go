package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// versionsDB is the Redis database in which whole versions are kept.
const versionsDB = 1

// versions sums the accounts that a sink with publish: swap shows, all at once, as a reader would.
type versions struct {
	*witness
	stop       context.CancelFunc
	done       sync.WaitGroup
	checkpoint atomic.Int64 // seen last
	distinct   atomic.Int64 // how many were seen
}

var sumVersion = redis.NewScript(`local at = redis.call('HMGET', KEYS[1], 'prefix', 'chain', 'epoch', 'job', 'checkpoint_id')
if not at[1] then
  return false
end
local n, sum, digest = 0, 0, 0
for _, key in ipairs(redis.call('KEYS', at[1] .. '*')) do
  local id, balance = tonumber(string.sub(key, #at[1] + 1)), tonumber(redis.call('HGET', key, 'balance'))
  n = n + 1
  digest = digest + balance * (id % 1009 + 1)
  if id ~= 0 then
    sum = sum + balance
  end
end
return {at[2], at[3], at[4], at[5], string.format('%d %.0f %.0f', n, sum, digest)}`)

func followVersions(l *ledger, addr string) *versions {
	ctx, stop := context.WithCancel(l.t.Context())
	v := &versions{witness: newWitness(l, "redis with swap"), stop: stop}
	v.done.Go(func() {
		c := redis.NewClient(&redis.Options{Addr: addr, DB: versionsDB, MaxRetries: -1})
		defer c.Close()
		for ctx.Err() == nil {
			v.look(ctx, c)
			pause(ctx, 100*time.Millisecond) // the server does nothing else meanwhile
		}
	})
	l.t.Cleanup(v.halt)
	return v
}

func (v *versions) look(ctx context.Context, c *redis.Client) {
	seen, err := sumVersion.Run(ctx, c, []string{"statebridge:bank:accounts"}).StringSlice()
	if err != nil { // nothing is complete, or the server is away
		return
	}
	var p position
	var s state
	var n, sum, digest int64
	p.chain, s.job = seen[0], seen[2]
	if _, err := fmt.Sscan(seen[1]+" "+seen[3]+" "+seen[4], &p.epoch, &s.checkpoint, &n, &sum, &digest); err != nil {
		v.differ("redis with swap says %q", seen)
		return
	}
	v.see(p, s, n, sum, digests{accounts: digest})
	v.checkpoint.Store(s.checkpoint)
	v.distinct.Store(int64(len(v.states)))
}

func (v *versions) halt() {
	v.stop()
	v.done.Wait()
}

func (v *versions) end(held map[state]digests) {
	v.halt()
	accounts := map[state]digests{}
	for s, d := range held {
		accounts[s] = digests{accounts: d.accounts}
	}
	v.compare(accounts)
}
