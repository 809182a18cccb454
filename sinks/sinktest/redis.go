package sinktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is a private server on a loopback port that keeps nothing on disk.
type Redis struct {
	URL  string
	Addr string
	process
}

// StartRedis starts a server for a test; args are further options of redis-server.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	return started(t, func(ctx context.Context) (*Redis, error) { return NewRedis(ctx, args...) })
}

const redisHint = "Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis"

// NewRedis starts a server.
func NewRedis(ctx context.Context, args ...string) (*Redis, error) {
	path, err := find("redis-server", redisHint, "/usr/bin/valkey-server", "/usr/local/bin/valkey-server")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &Redis{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	r.URL, r.path = "redis://"+r.Addr, path
	if r.dir, err = os.MkdirTemp("", "statebridge-redis-"); err != nil {
		return nil, err
	}
	r.args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, args...)
	return r, r.Start(ctx)
}

// Start starts the server again, empty.
func (r *Redis) Start(ctx context.Context) error {
	if err := r.start(); err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer client.Close()
	return r.await(func() error { return client.Ping(ctx).Err() })
}

// Kill ends the server as kill -9 does.
func (r *Redis) Kill() { r.signal(syscall.SIGKILL) }

// Close stops the server and removes its files.
func (r *Redis) Close() error {
	r.signal(syscall.SIGTERM)
	return os.RemoveAll(r.dir)
}

// Cluster is three masters without replicas.
type Cluster struct {
	Addrs []string
	Nodes []*Redis
}

// StartCluster starts a cluster for a test.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	return started(t, NewCluster)
}

// NewCluster starts three servers, shares the slots among them and waits until they agree.
func NewCluster(ctx context.Context) (*Cluster, error) {
	c := &Cluster{}
	if err := c.form(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) form(ctx context.Context) error {
	const slots, nodes = 16384, 3
	for i := range nodes {
		bus, err := freePort()
		if err != nil {
			return err
		}
		node, err := NewRedis(ctx, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "2000")
		if err != nil {
			return err
		}
		c.Nodes, c.Addrs = append(c.Nodes, node), append(c.Addrs, node.Addr)
		client := redis.NewClient(&redis.Options{Addr: node.Addr})
		defer client.Close()
		if err := client.ClusterAddSlotsRange(ctx, slots*i/nodes, slots*(i+1)/nodes-1).Err(); err != nil {
			return err
		}
		if err := client.Do(ctx, "config", "set", "cluster-announce-bus-port", bus).Err(); err != nil {
			return err
		}
		first := redis.NewClient(&redis.Options{Addr: c.Addrs[0]})
		defer first.Close()
		if _, port, _ := net.SplitHostPort(node.Addr); i > 0 {
			if err := first.Do(ctx, "cluster", "meet", "127.0.0.1", port, bus).Err(); err != nil {
				return err
			}
		}
	}
	return c.settle(ctx)
}

func (c *Cluster) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, addr := range c.Addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		defer client.Close()
		for {
			nodes, err := client.ClusterShards(ctx).Result()
			info, infoErr := client.ClusterInfo(ctx).Result()
			if err == nil && infoErr == nil && len(nodes) == len(c.Nodes) && len(info) > 16 && info[:16] == "cluster_state:ok" {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the cluster does not settle: %w: %s", errors.Join(ctx.Err(), err, infoErr), info)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

// Close stops all nodes.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.Nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}
