package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

var swapping = redis.Options{Publish: redis.Swap}

const bankC = "statebridge:bank:c"

// version is what the rows of a checkpoint are: id to value. In each another third of them changes, and some are not there.
func version(n uint64) map[string]string {
	rows := map[string]string{}
	for i := range uint64(60) {
		if last := n - (n+i)%3; (last+i)%5 != 0 { // it changed in this checkpoint or in one of the two before
			rows[fmt.Sprint("k", i)] = fmt.Sprint(last)
		}
	}
	return rows
}

// step gives the changes from one version to another, or all rows.
func step(from, to map[string]string) (changes []stream.Change) {
	for id, v := range to {
		if from == nil || from[id] != v {
			changes = append(changes, put(fmt.Sprintf(`{"id":%q}`, id), fmt.Sprintf(`{"id":%q,"value":%q}`, id, v)))
		}
	}
	for id := range from {
		if _, there := to[id]; !there {
			changes = append(changes, stream.Change{Op: 'd', Key: fmt.Appendf(nil, `{"id":%q}`, id)})
		}
	}
	return changes
}

// visible reads the side that readers are sent to.
func visible(t testing.TB, c *client.Client) map[string]string {
	t.Helper()
	return side(t, c, c.HGet(t.Context(), bankC, "prefix").Val())
}

func side(t testing.TB, c *client.Client, prefix string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, k := range keys(t, c) {
		if id, ok := strings.CutPrefix(k, prefix); ok && prefix != "" {
			rows[id] = c.HGet(t.Context(), k, "value").Val()
		}
	}
	return rows
}

// wantVersion: readers see a version, and after an epoch without rows of its own the other side would show it too.
func wantVersion(t testing.TB, c *client.Client, n uint64) {
	t.Helper()
	if diff := cmp.Diff(version(n), visible(t, c)); diff != "" {
		t.Fatalf("version %d (-want +got):\n%s", n, diff)
	}
	wantNoted(t, c)
}

// wantNoted: outside the keys that are noted the two sides are equal, and there is no key that belongs to neither.
func wantNoted(t testing.TB, c *client.Client) {
	t.Helper()
	a, b := side(t, c, "c:a:"), side(t, c, "c:b:")
	if c.HGet(t.Context(), bankC, "behind").Val() == "all" {
		return
	}
	for _, id := range c.SMembers(t.Context(), bankC+":behind").Val() {
		delete(a, id)
		delete(b, id)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("the sides differ in keys that are not noted (-a +b):\n%s", diff)
	}
	for _, k := range keys(t, c) {
		if !strings.HasPrefix(k, "c:a:") && !strings.HasPrefix(k, "c:b:") && k != bankC && k != bankC+":behind" {
			t.Fatalf("key %q is left over", k)
		}
	}
}

var luaBlock = regexp.MustCompile("(?s)```lua\n(.*?)```")

// documented is the reader of the guide.
func documented(t testing.TB) *client.Script {
	t.Helper()
	page, err := os.ReadFile("../../docs/guide/mirror-to-redis.md")
	if err != nil {
		t.Fatal(err)
	}
	block := luaBlock.FindSubmatch(page)
	if block == nil {
		t.Fatal("the guide has no script")
	}
	return client.NewScript(string(block[1]))
}

// witness keeps what readers saw, by checkpoint.
type witness struct {
	mu    sync.Mutex
	seen  map[uint64]int
	wrong error
}

func (w *witness) saw(n uint64, rows map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[n]++
	if want := version(n); !maps.Equal(want, rows) && w.wrong == nil {
		w.wrong = fmt.Errorf("version %d is seen as (-want +got):\n%s", n, cmp.Diff(want, rows))
	}
}

// inOneStep reads by the documented script, as fast as it can.
func (w *witness) inOneStep(ctx context.Context, c *client.Client, script *client.Script) {
	ids := slices.Collect(func(yield func(any) bool) {
		for i := range 60 {
			if !yield(fmt.Sprint("k", i)) {
				return
			}
		}
	})
	for ctx.Err() == nil {
		reply, err := script.Run(ctx, c, []string{bankC}, ids...).Slice()
		if err != nil {
			continue // nothing is complete, or the server is away
		}
		var n uint64
		_, _ = fmt.Sscan(reply[0].(string), &n)
		rows := map[string]string{}
		for i, r := range reply[1].([]any) {
			if fields := r.([]any); len(fields) > 0 {
				rows[ids[i].(string)] = fields[slices.Index(fields, any("value"))+1].(string)
			}
		}
		w.saw(n, rows)
	}
}

// inSteps reads row by row and looks whether it was the visible one all the time.
func (w *witness) inSteps(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		before, err := c.HMGet(ctx, bankC, "prefix", "revision", "checkpoint_id").Result()
		if err != nil || before[0] == nil {
			continue
		}
		rows := map[string]string{}
		for i := 0; i < 60 && err == nil; i++ { // by name, since a scan does not go on after a restart where it was
			var v string
			if v, err = c.HGet(ctx, fmt.Sprint(before[0], "k", i), "value").Result(); err == nil {
				rows[fmt.Sprint("k", i)] = v
			} else if errors.Is(err, client.Nil) {
				err = nil
			}
		}
		if err != nil { // the server is away
			continue
		}
		after, err := c.HMGet(ctx, bankC, "prefix", "revision", "checkpoint_id").Result()
		if err != nil || !slices.Equal(before, after) {
			continue
		}
		var n uint64
		_, _ = fmt.Sscan(before[2].(string), &n)
		w.saw(n, rows)
	}
}

// TestSwapReadersSeeWholeVersions: readers look as fast as they can during many epochs, full ones and some without changes among them, while connections are cut,
// epochs are abandoned half-way, workers are replaced and the server is killed.
func TestSwapReadersSeeWholeVersions(t *testing.T) {
	const last = 150
	server := sinktest.StartRedis(t, "--appendonly", "yes")
	c := dial(t, server.Addr)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers errgroup.Group
	w := &witness{seen: map[uint64]int{}}
	script := documented(t)
	readers.Go(func() error { w.inOneStep(ctx, dial(t, server.Addr), script); return nil })
	readers.Go(func() error { w.inSteps(ctx, dial(t, server.Addr)); return nil })

	s := open(t, server.URL, swapping)
	defer func() { s.Close() }()
	table := prepared(t, s, "c", id, value)
	faults := 0
	for n := uint64(1); n <= last; n++ {
		if n%10 == 0 { // an epoch of another number, which nobody may see
			abandon(t, s, table, n%20 == 0, step(version(n), version(n+100)))
		}
		switch n % 25 {
		case 5: // killed: another worker goes on
			faults++
			s.Close()
			s = open(t, server.URL, swapping)
			prepared(t, s, "c", id, value)
		case 15:
			faults++
			server.Kill()
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 20:
			faults++
			go func() { c.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes") }()
		}
		full := n == 1 || n%35 == 0
		applyUntilDone(t, s, table, epoch(table, n, full), step(from(n-1, full), version(n)))
		wantVersion(t, c, n)
	}
	stop()
	_ = readers.Wait()
	if w.wrong != nil {
		t.Fatal(w.wrong)
	}
	total := 0
	for _, times := range w.seen {
		total += times
	}
	t.Logf("%d faults; %d versions of %d were seen, %d times", faults, len(w.seen), last, total)
	if len(w.seen) < last/4 {
		t.Errorf("readers saw %d versions, too few to tell", len(w.seen))
	}
}

// applyUntilDone repeats an epoch as a Worker does.
func applyUntilDone(t testing.TB, s sinks.Sink, table sinks.Table, to stream.Epoch, changes []stream.Change) {
	t.Helper()
	var err error
	for range 50 {
		var at sinks.Position
		if at, err = s.Position(t.Context(), table); err == nil && at.Chain != "" && at.Epoch == to.Number { // the answer was lost
			return
		}
		if err == nil {
			err = try(t.Context(), s, table, to, changes...)
		}
		var permanent *sinks.PermanentError
		if err == nil || errors.As(err, &permanent) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// abandon begins an epoch, writes and gives up.
func abandon(t testing.TB, s sinks.Sink, table sinks.Table, full bool, changes []stream.Change) {
	t.Helper()
	from, err := s.Position(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(t.Context(), table, from, epoch(table, from.Epoch+1, full))
	if err == nil {
		err = tx.Apply(t.Context(), changes)
	}
	if err = errors.Join(err, tx.Rollback(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestSwapCutAnywhere: the connection ends behind each write to the server, one after the other. Readers see the version before or the new one; and whatever comes then,
// the same epoch, another one or a full one, is right, and so is the one after it.
func TestSwapCutAnywhere(t *testing.T) {
	server := sinktest.StartRedis(t)
	for name, cut := range map[string]struct{ before, full bool }{"delta": {}, "delta after a full epoch": {before: true}, "full": {full: true}} {
		t.Run(name, func(t *testing.T) {
			for writes := 1; cutBehind(t, server, writes, cut.before, cut.full); writes++ {
				if writes == 60 {
					t.Fatal("there is no end to it")
				}
			}
		})
	}
}

// cutBehind tells whether the epoch broke off.
func cutBehind(t *testing.T, server *sinktest.Redis, writes int, before, full bool) bool {
	t.Helper()
	c := dial(t, server.Addr)
	c.FlushDB(t.Context())
	s := open(t, server.URL, swapping)
	defer s.Close()
	table := prepared(t, s, "c", id, value)
	advance(t, s, table, 0, 1, true)
	advance(t, s, table, 1, 2, false)
	advance(t, s, table, 2, 3, before)

	others := clients(t, c)
	link := newLink(t, server.Addr)
	weak := open(t, "redis://"+link.addr, swapping)
	prepared(t, weak, "c", id, value)
	link.left.Store(int64(writes))
	broken := try(t.Context(), weak, table, epoch(table, 4, full), step(from(3, full), version(4))...)
	_ = weak.Close()
	for deadline := time.Now().Add(20 * time.Second); clients(t, c) > others && time.Now().Before(deadline); { // what is on its way arrives
		time.Sleep(time.Millisecond)
	}
	at, err := s.Position(t.Context(), table)
	if err != nil || at.Epoch != 3 && at.Epoch != 4 {
		t.Fatalf("%+v, %v", at, err)
	}
	n := at.Epoch
	wantVersion(t, c, n)
	next := n + 1 + uint64(writes%2) // the same epoch, or another of its number
	advance(t, s, table, n, next, writes%3 == 2)
	wantVersion(t, c, next)
	advance(t, s, table, next, next, false)
	wantVersion(t, c, next)
	advance(t, s, table, next, next+1, false)
	wantVersion(t, c, next+1)
	return broken != nil
}

// clients is how many connections the server has.
func clients(t testing.TB, c *client.Client) (n int) {
	t.Helper()
	_, count, _ := strings.Cut(c.Info(t.Context(), "clients").Val(), "connected_clients:")
	if _, err := fmt.Sscan(count, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// from is what an epoch builds on.
func from(n uint64, full bool) map[string]string {
	if full {
		return nil
	}
	return version(n)
}

// startSwapping gives a table of a sink that swaps, in a server of its own.
func startSwapping(t testing.TB) (*client.Client, *redis.Sink, sinks.Table) {
	t.Helper()
	server := sinktest.StartRedis(t)
	s := open(t, server.URL, swapping)
	t.Cleanup(func() { s.Close() })
	return dial(t, server.Addr), s, prepared(t, s, "c", id, value)
}

// advance leads from one version to another, by the epoch that comes next.
func advance(t testing.TB, s sinks.Sink, table sinks.Table, base, next uint64, full bool) {
	t.Helper()
	at, err := s.Position(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	to := epoch(table, at.Epoch+1, full)
	to.Snapshot.CheckpointID = int64(next)
	if err := try(t.Context(), s, table, to, step(from(base, full), version(next))...); err != nil {
		t.Fatalf("from version %d to %d: %v", base, next, err)
	}
}
