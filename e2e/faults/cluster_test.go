package faults

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

// cluster is three NATS servers, each a process.
type cluster struct {
	t       *testing.T
	servers map[string]*natsServer
	js      jetstream.JetStream
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, servers: map[string]*natsServer{}}
	var routes []int
	for range 3 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, port)
	}
	for i, port := range routes {
		s := newTestNATS(t)
		s.Name, s.Cluster, s.Routes = fmt.Sprintf("n%d", i), port, routes
		s.Dir = filepath.Join(t.TempDir(), s.Name)
		startTestNATS(t, s)
		c.servers[s.Name] = s
	}
	for _, s := range c.servers {
		if err := s.await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := nats.Connect(c.url(), nats.UserInfo("bridge", secrets[2]), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if c.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) url() string {
	var all []string
	for _, s := range c.servers {
		all = append(all, "nats://"+s.addr())
	}
	return strings.Join(all, ",")
}

// leader waits until the stream has one, and at least as many copies that are up to date.
func (c *cluster) leader(copies int) string {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		s, err := c.js.Stream(c.t.Context(), "statebridge_bank")
		if err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader != "" {
			current := 1
			for _, r := range s.CachedInfo().Cluster.Replicas {
				if r.Current && !r.Offline {
					current++
				}
			}
			if current >= copies {
				return s.CachedInfo().Cluster.Leader
			}
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("no leader with %d copies: %v", copies, err)
		}
	}
}

// killLeader ends the leader of the stream as kill -9 does, and gives what starts it again.
func (c *cluster) killLeader() *natsServer {
	c.t.Helper()
	s := c.servers[c.leader(3)]
	s.Kill()
	return s
}

// depose makes the stream choose another leader.
func (c *cluster) depose() {
	c.t.Helper()
	if _, err := c.js.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN.statebridge_bank", nil, 10*time.Second); err != nil {
		c.t.Log(err)
	}
}

// window makes the stream remember ids of messages for this long only.
func (c *cluster) window(d time.Duration) {
	c.t.Helper()
	s, err := c.js.Stream(c.t.Context(), "statebridge_bank")
	if err != nil {
		c.t.Fatal(err)
	}
	config := s.CachedInfo().Config
	if config.Replicas != 3 {
		c.t.Fatalf("the stream has %d replicas", config.Replicas)
	}
	config.Duplicates = d
	if _, err := c.js.UpdateStream(c.t.Context(), config); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) source() *stream.Source {
	c.t.Helper()
	bus, err := stream.Connect(c.t.Context(), stream.Options{
		URL: c.url(), User: "bridge", Password: secrets[2], Replicas: 3, BatchBytes: 1, Window: 1 << 20,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(bus.Close)
	s, err := bus.Source(c.t.Context(), "bank")
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// What happens amid an epoch, between the first half of its changes and the second.
var amid = map[string]func(c *cluster) (mend func() error){
	"nothing":            func(*cluster) func() error { return nil },
	"the window is over": func(*cluster) func() error { time.Sleep(1500 * time.Millisecond); return nil },
	"the leader is killed": func(c *cluster) func() error {
		s := c.killLeader()
		return func() error { return s.Start(c.t.Context()) }
	},
	"another leads": func(c *cluster) func() error { c.depose(); return nil },
	"both, and the window": func(c *cluster) func() error {
		s := c.killLeader()
		time.Sleep(1500 * time.Millisecond)
		c.leader(2)
		c.depose()
		return func() error { return s.Start(c.t.Context()) }
	},
}

// TestCluster: three servers that remember ids for a second, of which one is lost, or the leader changes, amid an epoch, and publishers that die there. Whoever publishes next sees
// to it that each epoch has its one effect; a reader that follows all the while ends with the rows that were published.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := c.source()
	c.window(time.Second)
	want := rows{}
	r := follow(t, c.source())
	id := int64(0)
	for name, happens := range amid {
		for _, dies := range []bool{false, true} {
			id++
			c.leader(3)
			tries := c.publish(s, want, id, dies, happens)
			t.Logf("epoch %d: %s, the publisher dies: %t, %d tries", id, name, dies, tries)
		}
	}
	r.reach(uint64(id))
	if !maps.Equal(r.rows, want) {
		t.Errorf("%d rows, want %d:\n%v\n%v", len(r.rows), len(want), r.rows, want)
	}
}

// rows are the numbers of epochs that set them last, by key.
type rows map[int]int64

// publish brings the rows to a snapshot, as a feed does: what failed is begun again by a publisher that looks first.
func (c *cluster) publish(s *stream.Source, want rows, id int64, dies bool, happens func(*cluster) func() error) (tries int) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		p, err := s.Publisher(c.t.Context(), "accounts")
		if err == nil {
			if last, ok := p.Last(); ok && last.Snapshot.CheckpointID == id {
				break
			}
			tries++
			err = c.attempt(p, id, dies, happens)
			dies, happens = false, amid["nothing"]
		}
		if err != nil {
			time.Sleep(200 * time.Millisecond)
		}
	}
	for n := range changesAtOnce {
		want[key(id, n)] = id
	}
	return tries
}

const changesAtOnce = 40

func key(id int64, n int) int { return (int(id)*7 + n) % 97 }

var errDied = errors.New("died")

func (c *cluster) attempt(p *stream.Publisher, id int64, dies bool, happens func(*cluster) func() error) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	w, err := p.Begin(ctx, stream.Epoch{
		Full: id == 1, Partitions: 3, Operator: "accounts-op", State: "balance",
		Snapshot: stream.SnapshotRef{Job: "job", CheckpointID: id, Location: fmt.Sprintf("chk-%d", id)},
		Columns:  []stream.Column{{Name: "id", Type: "int64", Key: true}, {Name: "at", Type: "int64"}},
	})
	if err != nil {
		return err
	}
	if !dies {
		defer w.Abort()
	}
	op := byte('u')
	if id == 1 {
		op = 'r'
	}
	for n := range changesAtOnce {
		if n == changesAtOnce/2 {
			if mend := happens(c); mend != nil {
				defer func() {
					if err := mend(); err != nil {
						c.t.Error(err)
					}
				}()
			}
		}
		k := key(id, n)
		change := stream.Change{Op: op, Partition: k % 3, Key: fmt.Appendf(nil, `{"id":%d}`, k), After: fmt.Appendf(nil, `{"id":%d,"at":%d}`, k, id)}
		if err := w.Append(ctx, change); err != nil {
			return err
		}
	}
	if dies {
		return errDied
	}
	_, err = w.Commit(ctx)
	return err
}

// follower is a sink that keeps its rows in memory.
type follower struct {
	t     *testing.T
	rows  rows
	at    stream.Epoch
	ends  chan struct{}
	until uint64
	mu    sync.Mutex
}

func follow(t *testing.T, s *stream.Source) *follower {
	f := &follower{t: t, rows: rows{}, ends: make(chan struct{})}
	go func() {
		defer close(f.ends)
		for t.Context().Err() == nil && !f.done() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if err := f.step(ctx, s); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
		}
	}()
	return f
}

func (f *follower) step(ctx context.Context, s *stream.Source) error {
	e, err := s.Next(ctx, "accounts", f.at.Chain, f.at.Number)
	if err != nil {
		return err
	}
	next := maps.Clone(f.rows)
	if e.Full {
		next = rows{}
	}
	for changes, err := range s.Changes(ctx, e) {
		if err != nil {
			return err // it comes again
		}
		for _, c := range changes {
			var k int
			var at int64
			if _, err := fmt.Sscanf(string(c.After), `{"id":%d,"at":%d}`, &k, &at); err != nil {
				f.t.Error(err)
			}
			next[k] = at
		}
	}
	if e.Snapshot.CheckpointID != f.at.Snapshot.CheckpointID+1 {
		f.t.Errorf("checkpoint %d follows %d", e.Snapshot.CheckpointID, f.at.Snapshot.CheckpointID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows, f.at = next, e
	return nil
}

func (f *follower) done() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until > 0 && f.at.Number >= f.until
}

// reach waits until the follower has applied an epoch.
func (f *follower) reach(number uint64) {
	f.t.Helper()
	f.mu.Lock()
	f.until = number
	f.mu.Unlock()
	select {
	case <-f.ends:
	case <-time.After(2 * time.Minute):
		f.t.Fatalf("does not reach epoch %d", number)
	}
}

// TestRunOnACluster: run with nats.replicas 3 goes on while one of three servers after the other is lost.
func TestRunOnACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := newSmallOn(t, nil)
	s.nats = fmt.Sprintf("nats: {url: %q, user: bridge, password: %q, replicas: 3}", c.url(), secrets[2])
	b := s.bridge(newLedger(t), "bridge")
	s.arrive(b)
	for range 2 {
		lost := c.killLeader()
		s.arrive(b)
		if err := lost.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.arrive(b)
	b.end(secrets)
}
