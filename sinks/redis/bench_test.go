package redis_test

import (
	"strconv"
	"testing"

	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

const benchRows = 100_000

// BenchmarkUpsert compares the sink with a plain pipeline of HSET for the same rows, and with itself where it swaps whole versions.
func BenchmarkUpsert(b *testing.B) {
	server := sinktest.StartRedis(b)
	with := func(o redis.Options) func(b *testing.B) {
		return func(b *testing.B) {
			s := open(b, server.URL, o)
			defer s.Close()
			sinktest.Bench(b, s, benchRows)
		}
	}
	ours := with(redis.Options{})
	b.Run("sink", ours)
	b.Run("swap", with(redis.Options{Publish: redis.Swap, Key: "swap:{id}"}))
	b.Run("hand", func(b *testing.B) {
		c := dial(b, server.Addr)
		for b.Loop() {
			pipe := c.Pipeline()
			for i := range benchRows {
				id, name, city, balance, visits, active := sinktest.BenchRow(i, 1)
				pipe.HSet(b.Context(), "hand:"+strconv.FormatInt(id, 10), "id", id, "name", name, "city", city, "balance", balance, "visits", visits, "active", active)
				if pipe.Len() == 1000 {
					if _, err := pipe.Exec(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		sinktest.Rate(b, benchRows)
	})
	b.Run("again", ours) // what differs from the first is noise
}
