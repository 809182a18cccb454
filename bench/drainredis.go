package main

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
	sinkredis "github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// drainRedis has our keys in database 0 and the peer's in database 1.
type drainRedis struct {
	server     *sinktest.Redis
	ours, peer *redis.Client
}

func newDrainRedis(ctx context.Context) (drainTarget, error) {
	server, err := sinktest.NewRedis(ctx)
	if err != nil {
		return nil, err
	}
	client := func(db int) *redis.Client { return redis.NewClient(&redis.Options{Addr: server.Addr, DB: db}) }
	return &drainRedis{server, client(0), client(1)}, nil
}

func (d *drainRedis) Name() string { return "Redis" }

func (d *drainRedis) Clear(ctx context.Context) error { return d.ours.FlushAll(ctx).Err() }

func (d *drainRedis) Sink(ctx context.Context) (sinks.Sink, error) {
	return sinkredis.Open(ctx, d.server.URL, sinkredis.Options{})
}

func (d *drainRedis) Peer() (config string, env []string) {
	return "redis.yaml", []string{"REDIS_URL=" + d.server.URL + "/1"}
}

func (d *drainRedis) Equal(ctx context.Context) error {
	ours, err := hashes(ctx, d.ours)
	if err != nil {
		return err
	}
	peer, err := hashes(ctx, d.peer)
	if err == nil && (len(ours) == 0 || !maps.EqualFunc(ours, peer, maps.Equal)) {
		err = fmt.Errorf("%d keys of ours and %d of the peer's are not the same", len(ours), len(peer))
	}
	return err
}

// hashes reads all rows.
func hashes(ctx context.Context, client *redis.Client) (map[string]map[string]string, error) {
	rows := map[string]map[string]string{}
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "accounts:*", 10_000).Result()
		if err != nil {
			return nil, err
		}
		pipe := client.Pipeline()
		found := make([]*redis.MapStringStringCmd, len(keys))
		for i, key := range keys {
			found[i] = pipe.HGetAll(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		for i, key := range keys {
			rows[key] = found[i].Val()
		}
		if cursor = next; cursor == 0 {
			return rows, nil
		}
	}
}

func (d *drainRedis) Close() error {
	return errors.Join(d.ours.Close(), d.peer.Close(), d.server.Close())
}
