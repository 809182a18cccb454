package redis_test

import (
	"slices"
	"strings"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

func open(t testing.TB, url string, o redis.Options) *redis.Sink {
	t.Helper()
	s, err := redis.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keys gives all keys but those that hold positions.
func keys(t testing.TB, servers ...*client.Client) (found []string) {
	t.Helper()
	for _, s := range servers {
		names, err := s.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	slices.Sort(found)
	return found
}

// target is a server, or the nodes of a cluster, seen through the keys that begin with a consumer's name, or where readers are sent.
func target(any client.UniversalClient, url string, publish redis.Publish, nodes ...*client.Client) sinktest.Target {
	with := func(t testing.TB, o redis.Options) sinks.Sink {
		o.Publish = publish
		return open(t, url, o)
	}
	prefix := func(t testing.TB, table sinks.Table) string {
		if publish != redis.Swap {
			return table.Consumer + ":"
		}
		return any.HGet(t.Context(), "statebridge:"+table.Source+":"+table.Consumer, "prefix").Val()
	}
	return sinktest.Target{
		Open:   func(t testing.TB) sinks.Sink { return with(t, redis.Options{}) },
		Drift:  func(t testing.TB, d sinks.Drift) sinks.Sink { return with(t, redis.Options{SchemaDrift: d}) },
		Bad:    func(t testing.TB, b sinks.BadValue) sinks.Sink { return with(t, redis.Options{BadValue: b}) },
		Whole:  publish == redis.Swap,
		Prefix: prefix,
		Read: func(t testing.TB, table sinks.Table) (found []map[string]string) {
			beginning := prefix(t, table)
			if beginning == "" {
				return nil
			}
			pipe := any.Pipeline()
			for _, k := range keys(t, nodes...) {
				if strings.HasPrefix(k, beginning) {
					pipe.HGetAll(t.Context(), k)
				}
			}
			replies, err := pipe.Exec(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replies {
				found = append(found, r.(*client.MapStringStringCmd).Val())
			}
			return found
		},
		Wipe: func(t testing.TB, table sinks.Table) {
			for _, n := range nodes {
				if err := n.FlushDB(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func dial(t testing.TB, addr string) *client.Client {
	t.Helper()
	c := client.NewClient(&client.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestConformance(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	sinktest.Run(t, target(c, server.URL, redis.EachRow, c))
}

func TestConformanceSwap(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	sinktest.Run(t, target(c, server.URL, redis.Swap, c))
}

func TestConformanceCluster(t *testing.T) {
	cluster := sinktest.StartCluster(t)
	any := client.NewClusterClient(&client.ClusterOptions{Addrs: cluster.Addrs})
	t.Cleanup(func() { any.Close() })
	var nodes []*client.Client
	for _, addr := range cluster.Addrs {
		nodes = append(nodes, dial(t, addr))
	}
	sinktest.Run(t, target(any, "redis://"+cluster.Addrs[0], redis.EachRow, nodes...))
}
