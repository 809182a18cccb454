package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
)

// connect gives the client, once it is known whether the address is one of a cluster.
func (s *Sink) connect(ctx context.Context) (redis.UniversalClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	if strings.Contains(s.url, "master_name=") {
		o, err := redis.ParseFailoverURL(s.url)
		if err != nil {
			return nil, sinks.Permanent(masked(err, s.url))
		}
		o.MaxRetries = -1
		if s.options.TLS != nil {
			o.TLSConfig = s.options.TLS
		}
		s.client, s.limit = redis.NewFailoverClient(o), maxValue
		return s.client, nil
	}
	o, err := redis.ParseURL(s.url)
	if err != nil {
		return nil, sinks.Permanent(masked(err, s.url))
	}
	o.MaxRetries = -1 // a repeated command would count rows twice; the worker repeats the epoch
	if s.options.TLS != nil {
		o.TLSConfig = s.options.TLS
	}
	return s.dial(ctx, o)
}

func (s *Sink) dial(ctx context.Context, o *redis.Options) (redis.UniversalClient, error) {
	single := redis.NewClient(o)
	info, err := single.Info(ctx, "cluster").Result()
	if err != nil {
		return nil, errors.Join(err, single.Close())
	}
	s.limit = maxValue
	if bound, err := single.ConfigGet(ctx, "proto-max-bulk-len").Result(); err == nil { // hosted servers may forbid the question
		if n, err := strconv.Atoi(bound["proto-max-bulk-len"]); err == nil {
			s.limit = n
		}
	}
	if !strings.Contains(info, "cluster_enabled:1") {
		s.client = single
		return single, nil
	}
	s.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, PoolSize: o.PoolSize,
	})
	return s.client, single.Close()
}

// masters runs f on the server, or on each master of the cluster at once.
func masters(ctx context.Context, client redis.UniversalClient, f func(context.Context, *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, c)
	}
	return fmt.Errorf("a client of kind %T", client)
}

// masked keeps an address, and the password in it, out of an error.
func masked(err error, url string) error {
	return errors.New(strings.ReplaceAll(err.Error(), url, "…"))
}

// permanent lists the error codes that no retry can mend. All else (READONLY, LOADING, MASTERDOWN, CLUSTERDOWN, TRYAGAIN, MOVED, OOM,
// BUSY, MISCONF, NOREPLICAS, NOSCRIPT, a broken connection) is tried again; go-redis closes the connection after READONLY.
var permanent = []string{"WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "NOPROTO", "CROSSSLOT"}

func classify(err error) error {
	var e redis.Error
	if !errors.As(err, &e) {
		return err
	}
	text := strings.TrimPrefix(e.Error(), "ERR ")
	if strings.HasPrefix(text, "FENCED") {
		return sinks.ErrFenced
	}
	inScript := strings.HasPrefix(text, "Error running script") // how Redis before 7 tells of it
	for _, code := range permanent {
		if strings.HasPrefix(text, code) || inScript && strings.Contains(text, code+" ") {
			return sinks.Permanent(fmt.Errorf("redis: %w", err))
		}
	}
	return fmt.Errorf("redis: %w", err)
}
