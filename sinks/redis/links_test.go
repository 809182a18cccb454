package redis_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// link is an address of our own in front of a server: it can lead elsewhere, and be slow.
type link struct {
	addr  string
	to    atomic.Pointer[string]
	pause atomic.Int64 // before each 16 KiB that go to the server
	left  atomic.Int64 // how many more of these get there before the link breaks for good; 0: all
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &link{addr: listener.Addr().String()}
	l.to.Store(&to)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(conn)
		}
	}()
	return l
}

func (l *link) carry(conn net.Conn) {
	server, err := net.Dial("tcp", *l.to.Load())
	if err != nil {
		conn.Close()
		return
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10) // so that the sender notices
	go func() { _, _ = io.Copy(conn, server); conn.Close() }()
	buf := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buf)
		time.Sleep(time.Duration(l.pause.Load()))
		left := l.left.Load()
		if left > 0 && l.left.Add(-1) == 0 {
			l.left.Store(-1)
		}
		if left < 0 {
			n = 0
		}
		if _, e := server.Write(buf[:n]); e != nil || err != nil || l.left.Load() < 0 {
			server.Close()
			return
		}
	}
}

// TestThrottledLink: 100 000 rows over a link so slow that it times out. That epoch fails; none is taken for complete before all of its rows are there.
func TestThrottledLink(t *testing.T) {
	const n = 100_000
	server := sinktest.StartRedis(t)
	l := newLink(t, server.Addr)
	s := open(t, "redis://"+l.addr+"?write_timeout=50ms&read_timeout=300ms", redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	var rows []stream.Change
	for i := range n {
		rows = append(rows, put(fmt.Sprintf(`{"id":"%d"}`, i), fmt.Sprintf(`{"id":"%d","value":"%s"}`, i, strings.Repeat("x", 200))))
	}
	l.pause.Store(int64(time.Second))
	err := try(t.Context(), s, table, epoch(table, 1, true), rows...)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) {
		t.Fatalf("err = %v, want one worth a retry", err)
	}
	t.Log(err)
	c := dial(t, server.Addr)
	if m := c.HGetAll(t.Context(), "statebridge:bank:c").Val(); m["epoch"] != "" {
		t.Fatalf("the position says %v", m)
	}
	l.pause.Store(0)
	if err := try(t.Context(), s, table, epoch(table, 1, true), rows...); err != nil {
		t.Fatal(err)
	}
	if got := c.DBSize(t.Context()).Val(); got != n+1 {
		t.Fatalf("%d keys, want %d rows and the position", got, n)
	}
}

// TestAnotherMaster: the master becomes a replica and the same address leads to its successor. The sink, whose connection is still to the old one, is told
// READONLY, dials again, and repeats the epoch there.
func TestAnotherMaster(t *testing.T) {
	old, successor := sinktest.StartRedis(t), sinktest.StartRedis(t)
	l := newLink(t, old.Addr)
	s := open(t, "redis://"+l.addr, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	if err := try(t.Context(), s, table, epoch(table, 1, true), put(`{"id":"a"}`, `{"id":"a","value":"1"}`)); err != nil {
		t.Fatal(err)
	}
	before, after := dial(t, old.Addr), dial(t, successor.Addr)
	host, port, _ := net.SplitHostPort(old.Addr)
	follow(t, after, host, port)
	if err := after.ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	host, port, _ = net.SplitHostPort(successor.Addr)
	follow(t, before, host, port)
	l.to.Store(&successor.Addr)

	change := put(`{"id":"a"}`, `{"id":"a","value":"2"}`)
	err := try(t.Context(), s, table, epoch(table, 2, false), change)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "READONLY") {
		t.Fatalf("err = %v, want READONLY, worth a retry", err)
	}
	if err := try(t.Context(), s, table, epoch(table, 2, false), change); err != nil {
		t.Fatalf("after READONLY the old connection is still in use: %v", err)
	}
	if got := after.HGet(t.Context(), "c:a", "value").Val(); got != "2" {
		t.Errorf("the new master holds %q", got)
	}
}

// follow makes a server a replica and waits until it has all.
func follow(t *testing.T, c *client.Client, host, port string) {
	t.Helper()
	if err := c.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(c.Info(t.Context(), "replication").Val(), "master_link_status:up") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the replica does not come up")
		}
	}
}

// TestMasterDown: a replica that has lost its master and may not answer is waited for.
func TestMasterDown(t *testing.T) {
	server := sinktest.StartRedis(t, "--replica-serve-stale-data", "no")
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	row := put(`{"id":"a"}`, `{"id":"a","value":"1"}`)
	if err := c.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	err := try(t.Context(), s, table, epoch(table, 1, true), row)
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "MASTERDOWN") {
		t.Fatalf("err = %v, want MASTERDOWN, worth a retry", err)
	}
	if err := c.ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), row); err != nil {
		t.Fatal(err)
	}
}

// TestLoading: a server that still reads its file is waited for.
func TestLoading(t *testing.T) {
	server := sinktest.StartRedis(t, "--enable-debug-command", "yes")
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	for i := range 100 {
		c.Set(t.Context(), fmt.Sprint("filler-", i), strings.Repeat("x", 100<<10), 0)
	}
	row := put(`{"id":"a"}`, `{"id":"a","value":"1"}`)
	for _, set := range [][]any{{"config", "set", "key-load-delay", 20_000}, {"config", "set", "loading-process-events-interval-bytes", 1024}} {
		if err := c.Do(t.Context(), set...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	reloaded := make(chan error, 1)
	go func() {
		slow := client.NewClient(&client.Options{Addr: server.Addr, ReadTimeout: time.Minute})
		defer slow.Close()
		reloaded <- slow.Do(t.Context(), "debug", "reload").Err()
	}()
	var err error
	for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); {
		_, err = s.Position(t.Context(), table)
	}
	var permanent *sinks.PermanentError
	if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "LOADING") {
		t.Fatalf("err = %v, want LOADING, worth a retry", err)
	}
	if err := <-reloaded; err != nil {
		t.Fatal(err)
	}
	if err := try(t.Context(), s, table, epoch(table, 1, true), row); err != nil {
		t.Fatal(err)
	}
}

// TestIdleLinkClosed: the server closes the connection on which the rows of an epoch came. The next epoch finds another one.
func TestIdleLinkClosed(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	if err := try(t.Context(), s, table, epoch(table, 1, true), put(`{"id":"a"}`, `{"id":"a","value":"1"}`)); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for line := range strings.Lines(c.ClientList(t.Context()).Val()) {
		if number, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " "); strings.Contains(line, " cmd=hget ") {
			if err := c.ClientKillByFilter(t.Context(), "id", number).Err(); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("%d connections have sent an HGET last", killed)
	}
	if err := try(t.Context(), s, table, epoch(table, 2, false), put(`{"id":"a"}`, `{"id":"a","value":"2"}`)); err != nil {
		t.Fatal(err)
	}
	if got := c.HGet(t.Context(), "c:a", "value").Val(); got != "2" {
		t.Errorf("value = %q", got)
	}
}
