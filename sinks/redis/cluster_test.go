package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestClusterCrashBetweenSlots: a worker dies when one master of three has not taken its share. The position does not claim what is not there, and the next
// worker applies the whole epoch.
func TestClusterCrashBetweenSlots(t *testing.T) {
	const n = 300
	cluster := sinktest.StartCluster(t)
	any := client.NewClusterClient(&client.ClusterOptions{Addrs: cluster.Addrs})
	t.Cleanup(func() { any.Close() })
	s := open(t, "redis://"+cluster.Addrs[0]+"?read_timeout=500ms", redis.Options{})
	table := prepared(t, s, "c", id, value)
	rows := func(v string) (changes []stream.Change) {
		for i := range n {
			changes = append(changes, put(fmt.Sprintf(`{"id":"%d"}`, i), fmt.Sprintf(`{"id":"%d","value":%q}`, i, v)))
		}
		return changes
	}
	holds := func(v string) (count int) {
		for i := range n {
			if got, err := any.HGet(t.Context(), fmt.Sprint("c:", i), "value").Result(); err != nil {
				t.Fatal(err)
			} else if got == v {
				count++
			}
		}
		return count
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), rows("old")...); err != nil {
		t.Fatal(err)
	}
	home := any.ClusterKeySlot(t.Context(), "statebridge:bank:c").Val()
	stuck := dial(t, cluster.Addrs[(int(home)*3/16384+1)%3]) // not the one that has the position
	if err := stuck.Do(t.Context(), "client", "pause", 60_000, "write").Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := try(ctx, s, table, epoch(table, 2, false), rows("new")...); err == nil {
		t.Fatal("committed without one of the masters")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range clientsOf(t, stuck) { // what it sent to the stuck master dies with it
		stuck.ClientKillByFilter(t.Context(), "ID", id)
	}
	if err := stuck.Do(t.Context(), "client", "unpause").Err(); err != nil {
		t.Fatal(err)
	}
	if got := holds("new"); got == 0 || got == n {
		t.Fatalf("%d of %d rows are new, want some", got, n)
	}

	next := open(t, "redis://"+cluster.Addrs[0], redis.Options{})
	defer next.Close()
	prepared(t, next, "c", id, value)
	if at, err := next.Position(t.Context(), table); err != nil || at.Epoch != 1 {
		t.Fatalf("position = %+v, %v, want epoch 1", at, err)
	}
	if err := try(t.Context(), next, table, epoch(table, 2, false), rows("new")...); err != nil {
		t.Fatal(err)
	}
	if got := holds("new"); got != n {
		t.Fatalf("%d of %d rows are new", got, n)
	}
}

// clientsOf lists the connections of others.
func clientsOf(t *testing.T, c *client.Client) (ids []string) {
	t.Helper()
	list, err := c.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if strings.Contains(line, "cmd=evalsha") {
			ids = append(ids, id)
		}
	}
	return ids
}
