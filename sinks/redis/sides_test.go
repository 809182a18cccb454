package redis_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestSwapGrace: what readers were sent to stays as it is for the time that is set, also where another process has sent them elsewhere.
func TestSwapGrace(t *testing.T) {
	const grace = 300 * time.Millisecond
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	o := redis.Options{Publish: redis.Swap, Grace: grace}
	s := open(t, server.URL, o)
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	advance(t, s, table, 0, 1, true)
	for n := uint64(2); n < 8; n += 2 {
		asked, prefix, before := time.Now(), c.HGet(t.Context(), bankC, "prefix").Val(), n-1
		left := make(chan error, 1)
		go func() {
			for time.Since(asked) < grace {
				if rows := side(t, c, prefix); !maps.Equal(rows, version(before)) && time.Since(asked) < grace {
					left <- fmt.Errorf("version %d does not stay:\n%s", before, cmp.Diff(version(before), rows))
					return
				}
			}
			left <- nil
		}()
		advance(t, s, table, n-1, n, n == 4)
		worker := s
		if n == 6 { // just started
			worker = open(t, server.URL, o)
			defer worker.Close()
			prepared(t, worker, "c", id, value)
		}
		advance(t, worker, table, n, n+1, n == 2)
		wantVersion(t, c, n+1)
		if err := <-left; err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwapTurnsWithRowsOnly: an epoch without changes leaves readers where they are and waits for nothing; nor does the first one.
func TestSwapTurnsWithRowsOnly(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s := open(t, server.URL, redis.Options{Publish: redis.Swap, Grace: 10 * time.Second})
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	first := time.Now()
	advance(t, s, table, 0, 1, true)
	if took := time.Since(first); took > 5*time.Second {
		t.Errorf("the first epoch took %v", took)
	}
	swift := open(t, server.URL, swapping)
	defer swift.Close()
	prepared(t, swift, "c", id, value)
	advance(t, swift, table, 1, 2, false)
	prefix, began := c.HGet(t.Context(), bankC, "prefix").Val(), time.Now()
	for range 3 {
		advance(t, s, table, 2, 2, false)
	}
	if now := c.HGet(t.Context(), bankC, "prefix").Val(); now != prefix || time.Since(began) > 5*time.Second {
		t.Errorf("readers at %q are sent to %q after %v", prefix, now, time.Since(began))
	}
	wantVersion(t, c, 2)
}

// TestSwapCostFollowsChange: an epoch of a few rows copies the rows of the epoch before and writes its own, however many there are.
func TestSwapCostFollowsChange(t *testing.T) {
	c, s, table := startSwapping(t)
	rows := func(n int, v string) (changes []stream.Change) {
		for i := range n {
			changes = append(changes, put(fmt.Sprintf(`{"id":"k%d"}`, i), fmt.Sprintf(`{"id":"k%d","value":%q}`, i, v)))
		}
		return changes
	}
	write := func(n uint64, changes []stream.Change) {
		t.Helper()
		if err := try(t.Context(), s, table, epoch(table, n, n == 1), changes...); err != nil {
			t.Fatal(err)
		}
	}
	write(1, rows(20_000, "x"))
	write(2, rows(10, "y"))
	if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	write(3, rows(7, "z"))
	calls := map[string]int{}
	for line := range strings.Lines(c.Info(t.Context(), "commandstats").Val()) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		var n int
		_, _ = fmt.Sscan(strings.Split(rest, ",")[0], &n)
		calls[name] = n
	}
	if calls["copy"] != 10 || calls["scan"] != 0 || calls["hset"] > 10 {
		t.Errorf("7 rows after 10: %v", calls)
	}
	for i, want := range map[int]string{0: "z", 6: "z", 7: "y", 9: "y", 10: "x", 19_999: "x"} {
		if got := visible(t, c)[fmt.Sprint("k", i)]; got != want {
			t.Errorf("k%d = %q, want %q", i, got, want)
		}
	}
}

// TestSwapZombie: a worker that was replaced, before its first row or amid its epoch, changes neither side.
func TestSwapZombie(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	s, late := open(t, server.URL, swapping), open(t, server.URL, swapping)
	defer s.Close()
	defer late.Close()
	table := prepared(t, s, "c", id, value)
	prepared(t, late, "c", id, value)
	advance(t, s, table, 0, 1, true)
	advance(t, s, table, 1, 2, false)
	for _, full := range []bool{false, true} {
		for _, started := range []bool{false, true} {
			n := version(0)
			at, err := late.Position(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			zombie, err := late.Begin(t.Context(), table, at, epoch(table, at.Epoch+1, full))
			if err == nil && started {
				err = zombie.Apply(t.Context(), step(nil, n)[:5])
			}
			if err != nil {
				t.Fatal(err)
			}
			base := uint64(at.Snapshot.CheckpointID)
			advance(t, s, table, base, base+1, false)
			advance(t, s, table, base+1, base+2, false)
			before := [2]map[string]string{side(t, c, "c:a:"), side(t, c, "c:b:")}
			if err = zombie.Apply(t.Context(), step(nil, n)); err == nil {
				err = zombie.Commit(t.Context())
			}
			if !errors.Is(err, sinks.ErrFenced) {
				t.Fatalf("full %v, started %v: err = %v, want %v", full, started, err, sinks.ErrFenced)
			}
			if err := zombie.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, [2]map[string]string{side(t, c, "c:a:"), side(t, c, "c:b:")}); diff != "" {
				t.Fatalf("full %v, started %v: a zombie wrote:\n%s", full, started, diff)
			}
			wantVersion(t, c, base+2)
		}
	}
}

// TestSwapSettingsChange: between rows and swap, and to another template, by a full epoch; nothing of the other way is left below the template's beginning.
func TestSwapSettingsChange(t *testing.T) {
	server := sinktest.StartRedis(t)
	c := dial(t, server.Addr)
	n := uint64(0)
	for i, o := range []redis.Options{{}, swapping, {}, swapping, {Publish: redis.Swap, Key: "c:x:{id}"}, swapping} {
		s := open(t, server.URL, o)
		defer s.Close()
		table := prepared(t, s, "c", id, value)
		at, err := s.Position(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if lost := at.Chain == ""; !lost || i > 0 && (at.Lost != sinks.KeptOtherwise || at.Revision == 0) {
			t.Fatalf("%d: position %+v", i, at)
		}
		if o.Publish == redis.Swap {
			if err := try(t.Context(), s, table, epoch(table, n+1, false), step(version(n), version(n+1))...); !errors.Is(err, sinks.ErrFenced) {
				t.Fatalf("%d: a delta upon rows that are kept otherwise: %v", i, err)
			}
		}
		advance(t, s, table, n, n, true)
		advance(t, s, table, n, n+1, false)
		n++
		prefix := "c:"
		if o.Publish == redis.Swap {
			prefix = c.HGet(t.Context(), bankC, "prefix").Val()
		}
		if diff := cmp.Diff(version(n), side(t, c, prefix)); diff != "" {
			t.Fatalf("%d (-want +got):\n%s", i, diff)
		}
		if o.Publish == redis.Swap {
			continue
		}
		if left := slices.DeleteFunc(keys(t, c), func(k string) bool { return strings.HasPrefix(k, "c:k") }); len(left) != 1 {
			t.Fatalf("%d: left over: %q", i, left)
		}
		if m := c.HGetAll(t.Context(), bankC).Val(); m["prefix"] != "" || m["behind"] != "" {
			t.Fatalf("%d: the position still says %v", i, m)
		}
	}
	for _, k := range keys(t, c) {
		if !strings.HasPrefix(k, "c:a:") && !strings.HasPrefix(k, "c:b:") && !strings.HasPrefix(k, bankC) {
			t.Errorf("left over: %q", k)
		}
	}
}

// TestSwapNotesLost: the set of noted keys was evicted or deleted, or rows of the hidden side were; everything is copied then, or with the next full epoch.
func TestSwapNotesLost(t *testing.T) {
	c, s, table := startSwapping(t)
	advance(t, s, table, 0, 1, true)
	for n := uint64(1); n < 8; n++ {
		advance(t, s, table, n, n+1, false)
		if n%2 == 0 {
			c.Del(t.Context(), bankC+":behind")
		} else {
			c.SPop(t.Context(), bankC+":behind")
		}
	}
	advance(t, s, table, 8, 9, false)
	wantVersion(t, c, 9)
	c.FlushDB(t.Context())
	if at, err := s.Position(t.Context(), table); err != nil || at != (sinks.Position{}) {
		t.Fatalf("%+v, %v", at, err)
	}
	advance(t, s, table, 0, 10, true)
	advance(t, s, table, 10, 11, false)
	wantVersion(t, c, 11)
}

// TestSwapOutOfMemory: an epoch that does not fit shows nothing, and gets through once there is room.
func TestSwapOutOfMemory(t *testing.T) {
	c, s, table := startSwapping(t)
	advance(t, s, table, 0, 1, true)
	advance(t, s, table, 1, 2, false)
	limit := func(bytes string) {
		t.Helper()
		if err := c.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for n := uint64(2); n < 8; n++ {
		full := n%3 == 0
		limit("1")
		err := try(t.Context(), s, table, epoch(table, n+1, full), step(from(n, full), version(n+1))...)
		var permanent *sinks.PermanentError
		if err == nil || errors.As(err, &permanent) || !strings.Contains(err.Error(), "OOM") {
			t.Fatalf("err = %v, want OOM, worth a retry", err)
		}
		wantVersion(t, c, n)
		limit("0")
		advance(t, s, table, n, n+1, full)
		wantVersion(t, c, n+1)
	}
}

// TestSwapFailover: a replica takes over amid an epoch, with what had reached it.
func TestSwapFailover(t *testing.T) {
	for _, full := range []bool{false, true} {
		old, successor := sinktest.StartRedis(t), sinktest.StartRedis(t)
		before, after := dial(t, old.Addr), dial(t, successor.Addr)
		l := newLink(t, old.Addr)
		s := open(t, "redis://"+l.addr, swapping)
		defer s.Close()
		table := prepared(t, s, "c", id, value)
		advance(t, s, table, 0, 1, true)
		advance(t, s, table, 1, 2, false)
		host, port, _ := net.SplitHostPort(old.Addr)
		follow(t, after, host, port)
		at, err := s.Position(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Begin(t.Context(), table, at, epoch(table, 3, full))
		if err == nil {
			err = tx.Apply(t.Context(), step(from(2, full), version(3)))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := after.ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
			t.Fatal(err)
		}
		host, port, _ = net.SplitHostPort(successor.Addr)
		follow(t, before, host, port)
		l.to.Store(&successor.Addr)
		if err := errors.Join(tx.Commit(t.Context()), tx.Rollback(t.Context())); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Fatalf("err = %v, want READONLY", err)
		}
		wantVersion(t, after, 2)
		applyUntilDone(t, s, table, epoch(table, 3, full), step(from(2, full), version(3)))
		wantVersion(t, after, 3)
		applyUntilDone(t, s, table, epoch(table, 4, false), step(version(3), version(4)))
		wantVersion(t, after, 4)
	}
}

// TestSwapMends: rows of the visible side that somebody changed are put right where they are, and stay right.
func TestSwapMends(t *testing.T) {
	c, s, table := startSwapping(t)
	advance(t, s, table, 0, 1, true)
	for n := uint64(1); n < 5; n++ {
		prefix := c.HGet(t.Context(), bankC, "prefix").Val()
		var differences []sinks.Difference
		for i, change := range step(nil, version(n)) {
			key := prefix + strings.Split(string(change.Key), `"`)[3]
			switch i {
			case 0:
				c.HSet(t.Context(), key, "value", "spoiled")
			case 1:
				c.Del(t.Context(), key)
			default:
				continue
			}
			differences = append(differences, sinks.Difference{Kind: sinks.Different, Key: change.Key, Want: change.After})
		}
		c.HSet(t.Context(), prefix+"stray", "value", "x")
		differences = append(differences, sinks.Difference{Kind: sinks.Extra, Key: fmt.Appendf(nil, "%q", prefix+"stray")})
		at, err := s.Position(t.Context(), table)
		if err == nil {
			err = s.Mend(t.Context(), table, at, uint64(len(version(n))), differences)
		}
		if err != nil {
			t.Fatal(err)
		}
		if now := c.HGet(t.Context(), bankC, "prefix").Val(); now != prefix {
			t.Errorf("readers are sent from %q to %q", prefix, now)
		}
		wantVersion(t, c, n)
		advance(t, s, table, n, n+1, false)
		wantVersion(t, c, n+1)
	}
}

func TestSwapRefusesAClusterByName(t *testing.T) {
	cluster := sinktest.StartCluster(t)
	s := open(t, "redis://"+cluster.Addrs[0], swapping)
	defer s.Close()
	err := s.Prepare(t.Context(), sinks.Table{Source: "bank", Consumer: "c", Columns: []stream.Column{id, value}})
	var permanent *sinks.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "publish: swap") {
		t.Fatalf("err = %v", err)
	}
	if _, err := redis.Open(t.Context(), "redis://127.0.0.1", redis.Options{Publish: "sometimes"}); !errors.As(err, &permanent) {
		t.Errorf("another word: %v", err)
	}
}
