package registry

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func connect(t *testing.T, o stream.Options) *stream.Bus {
	t.Helper()
	b, err := stream.Connect(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-b.Closed():
		default:
			b.Close()
		}
	})
	return b
}

func open(t *testing.T, b *stream.Bus) *Registry {
	t.Helper()
	s, err := b.Source(t.Context(), "bank")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newRegistry(t *testing.T) *Registry {
	t.Helper()
	return open(t, connect(t, stream.Options{Dir: t.TempDir()}))
}

func TestConsumers(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, stream.Options{Dir: dir})
	r := open(t, b)
	ctx := t.Context()
	for _, name := range []string{"carts", "a.b", "a_b", ""} {
		must(t, r.Register(ctx, Consumer{Name: name, Operator: "op", State: "st"}))
	}
	must(t, r.SetPosition(ctx, Position{Consumer: "a.b", Sink: "pg", Chain: "x", Epoch: 6}))
	must(t, r.SetPosition(ctx, Position{Consumer: "a.b", Sink: "pg", Chain: "x", Epoch: 7}))
	must(t, r.SetPosition(ctx, Position{Consumer: "a.b", Sink: "cache >", Chain: "x", Epoch: 3}))
	must(t, r.SetPosition(ctx, Position{Consumer: "a_b", Sink: "pg", Chain: "y", Epoch: 1}))
	must(t, r.RequestResync(ctx, Resync{Consumer: "a.b", Sink: "pg", Reason: "table dropped"}))
	b.Close()

	r = open(t, connect(t, stream.Options{Dir: dir}))
	all, err := r.Consumers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, "|"); got != "|a.b|a_b|carts" {
		t.Fatalf("consumers %q", got)
	}
	c := all[1]
	if len(c.Positions) != 2 || c.Positions[0].Sink != "cache >" || c.Positions[1].Epoch != 7 || c.Positions[1].Time.IsZero() || c.Operator != "op" {
		t.Fatalf("%+v", c)
	}
	if c.Resync == nil || c.Resync.Reason != "table dropped" || all[2].Resync != nil {
		t.Fatalf("resync %+v, %+v", c.Resync, all[2].Resync)
	}
	must(t, r.RemovePosition(ctx, "a.b", "pg"))
	if ps, err := r.Positions(ctx, "a.b"); err != nil || len(ps) != 1 {
		t.Fatalf("%+v, %v", ps, err)
	}
	must(t, r.RestorePosition(ctx, Position{Consumer: "a.b", Sink: "pg", Chain: "x", Epoch: 7}))
	must(t, r.RestorePosition(ctx, Position{Consumer: "a.b", Sink: "cache >", Chain: "x", Epoch: 9}))
	if ps, err := r.Positions(ctx, "a.b"); err != nil || len(ps) != 2 || ps[0].Epoch != 3 || ps[1].Epoch != 7 {
		t.Fatalf("%+v, %v", ps, err)
	}
	must(t, r.Remove(ctx, "a.b"))
	if all, err = r.Consumers(ctx); err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
}

func TestResync(t *testing.T) {
	r := newRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, pending, err := r.Resync(ctx, "accounts"); pending || err != nil {
		t.Fatal(pending, err)
	}
	requests, err := r.WatchResync(ctx, "accounts")
	if err != nil {
		t.Fatal(err)
	}
	must(t, r.RequestResync(ctx, Resync{Consumer: "accounts", Sink: "pg", Reason: "first"}))
	must(t, r.RequestResync(ctx, Resync{Consumer: "accounts", Sink: "redis", Reason: "second"}))
	q := receive(t, requests)
	if q.Reason != "first" || q.Sink != "pg" {
		t.Fatalf("%+v", q)
	}
	must(t, r.ClearResync(ctx, q))
	must(t, r.RequestResync(ctx, Resync{Consumer: "accounts", Reason: "third"}))
	if again := receive(t, requests); again.Reason != "third" {
		t.Fatalf("%+v", again)
	}
	must(t, r.ClearResync(ctx, q)) // the old one
	got, pending, err := r.Resync(ctx, "accounts")
	if err != nil || !pending || got.Reason != "third" {
		t.Fatalf("%+v, %v, %v", got, pending, err)
	}
	late, err := r.WatchResync(ctx, "accounts") // sees what is pending already
	if err != nil {
		t.Fatal(err)
	}
	if q := receive(t, late); q.Reason != "third" {
		t.Fatalf("%+v", q)
	}
	must(t, r.ClearResync(ctx, got))
	if _, pending, err = r.Resync(ctx, "accounts"); pending || err != nil {
		t.Fatal(pending, err)
	}
	cancel()
	for range requests {
	}
	for range late {
	}
}

func receive(t *testing.T, c <-chan Resync) Resync {
	t.Helper()
	select {
	case q := <-c:
		return q
	case <-time.After(10 * time.Second):
		t.Fatal("no request arrives")
		panic("unreachable")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, r *Registry, holder string, ttl, wait time.Duration) (*Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return r.Acquire(ctx, Claim{Task: Task{Consumer: "accounts"}, Holder: holder, TTL: ttl})
}

func TestLeaseIsExclusive(t *testing.T) {
	r := newRegistry(t)
	const ttl = 400 * time.Millisecond
	a, err := acquire(t, r, "a", ttl, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	must(t, r.Register(t.Context(), Consumer{Name: "accounts"}))
	if _, err := acquire(t, r, "b", ttl, 3*ttl); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "held by a") {
		t.Fatalf("err = %v", err)
	}
	must(t, r.Register(t.Context(), Consumer{Name: "carts", Lease: "accounts"}))
	if all, err := r.Consumers(t.Context()); err != nil || all[0].Holder != "a" || all[1].Holder != "a" {
		t.Fatalf("%+v, %v", all, err)
	}
	select {
	case <-a.Lost():
		t.Fatal("lost while renewing")
	default:
	}
	a.Release()
	<-a.Lost()
	b, err := acquire(t, r, "b", ttl, ttl)
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
}

func TestLeaseOfADeadHolder(t *testing.T) {
	r := newRegistry(t)
	const ttl = 300 * time.Millisecond
	a, err := acquire(t, r, "a", ttl, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a.cancel() // its heartbeat ends, and nobody releases
	a.done.Wait()
	begun := time.Now()
	b, err := acquire(t, r, "b", ttl, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(begun); waited < ttl {
		t.Fatalf("taken after %s", waited)
	}
	if err := a.write(t.Context(), a.revision); !isConflict(err) {
		t.Fatalf("the dead holder renews: %v", err)
	}
	b.Release()
}

// What a process could not give back it takes again at once, as nobody else uses it.
func TestLeaseThatCouldNotBeGivenBack(t *testing.T) {
	r := newRegistry(t)
	a, err := acquire(t, r, "a", time.Minute, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a.revision-- // so that the bucket does not take its release
	a.Release()
	b, err := acquire(t, r, "a", time.Minute, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := acquire(t, &Registry{src: r.src, kv: r.kv, ended: map[string]string{}}, "c", time.Minute, time.Second); err == nil {
		other.Release()
		t.Error("somebody else has it too")
	}
	b.Release()
}

func TestLeaseIsLost(t *testing.T) {
	r := newRegistry(t)
	a, err := acquire(t, r, "a", 200*time.Millisecond, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	thief := &Lease{reg: r, key: a.key, held: held{Holder: "thief", Session: "x", TTL: 60_000}}
	_, revision, err := get[held](t.Context(), r, a.key)
	if err != nil {
		t.Fatal(err)
	}
	for thief.write(t.Context(), revision) != nil { // races with a heartbeat
		if _, revision, err = get[held](t.Context(), r, a.key); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-a.Lost():
	case <-time.After(5 * time.Second):
		t.Fatal("does not notice")
	}
	a.Release()
	if h, _, err := get[held](t.Context(), r, a.key); err != nil || h.Holder != "thief" {
		t.Fatalf("%+v, %v", h, err)
	}
}

// An embedded server dies with the holders it had, so that nobody waits for them.
func TestLeaseOfAnEarlierRun(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, stream.Options{Dir: dir})
	a, err := acquire(t, open(t, b), "a", time.Hour, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a.cancel()
	a.done.Wait()
	b.Close()
	again, err := acquire(t, open(t, connect(t, stream.Options{Dir: dir})), "b", time.Hour, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

// The holder's own beat, whose answer was lost, is not somebody else's.
func TestLeaseAdoptsItsOwnBeat(t *testing.T) {
	r := newRegistry(t)
	a, err := acquire(t, r, "a", 400*time.Millisecond, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a.cancel()
	a.done.Wait()
	stale := a.revision
	must(t, a.write(t.Context(), a.revision))
	if err := a.write(t.Context(), stale); !isConflict(err) {
		t.Fatal(err)
	}
	must(t, a.adopt(t.Context()))
	a.Release()
}

// Whoever works alone stops when the lease is lost; who waits is told for whom, and goes on then. A sink's lease is another one.
func TestAlone(t *testing.T) {
	r := newRegistry(t)
	claim := func(holder, sink string) Claim {
		return Claim{Task: Task{Consumer: "accounts", Sink: sink}, Holder: holder, TTL: 400 * time.Millisecond}
	}
	working, lost := make(chan struct{}), make(chan error, 1)
	go func() {
		lost <- r.Alone(t.Context(), claim("a", "pg"), func(ctx context.Context) error {
			close(working)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-working
	other, err := r.Acquire(t.Context(), claim("b", ""))
	if err != nil {
		t.Fatal(err)
	}
	other.Release()

	told := ""
	waits := claim("b", "pg")
	waits.Waiting = func(holder string) { told = holder }
	for _, revision, err := get[held](t.Context(), r, waits.key()); ; _, revision, err = get[held](t.Context(), r, waits.key()) {
		must(t, err)
		thief := &Lease{reg: r, key: waits.key(), held: held{Holder: "thief", Session: "x", Server: r.src.Bus().Server(), TTL: 2_000}}
		if thief.write(t.Context(), revision) == nil { // races with a heartbeat
			break
		}
	}
	if err := <-lost; !errors.Is(err, ErrLeaseLost) {
		t.Errorf("err = %v", err)
	}
	done := errors.New("done")
	if err := r.Alone(t.Context(), waits, func(context.Context) error { return done }); !errors.Is(err, done) {
		t.Errorf("err = %v", err)
	}
	if told != "thief" {
		t.Errorf("waited for %q", told)
	}
}

// The server was replaced by an empty one, or somebody has deleted the bucket: it is made again.
func TestLeaseWithoutBucket(t *testing.T) {
	b := connect(t, stream.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	r := open(t, b)
	c, err := nats.Connect(b.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	must(t, js.DeleteKeyValue(t.Context(), r.kv.Bucket()))
	l, err := acquire(t, r, "a", time.Minute, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}
