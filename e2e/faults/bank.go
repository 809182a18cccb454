package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/statebridge/statebridge/e2e"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// Bank is all there is: the job, the servers, the bridges between them, and those who look.
type Bank struct {
	*ledger
	job     *flinkJob
	servers map[string]*server
	bridges map[string]*bridge
	targets *e2e.Targets
	auditor *auditor
	epochs  *epochs
	swapped *versions

	interrupted <-chan struct{}

	postgres *sinktest.Postgres
	redis    *sinktest.Redis
	nats     *natsServer
}

// The servers ask for these or take any; no log may show them.
var secrets = []string{"pg-5ecret-Kq7", "redis-5ecret-Vd2", "nats-5ecret-Zt9"}

// Open starts everything and waits until the first checkpoint with all accounts has been mirrored.
func Open(t testing.TB) *Bank {
	t.Helper()
	interrupt, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	b := &Bank{ledger: newLedger(t), servers: map[string]*server{}, bridges: map[string]*bridge{}, interrupted: interrupt.Done()}
	b.sum()
	dir := t.TempDir()
	b.startServers(dir)
	b.job = startFlink(t, filepath.Join(dir, "job"))
	bin := e2e.Build(t)
	b.targets = e2e.Connect(t, b.postgres.URL, b.redis.URL)
	b.targets.SQLite = filepath.Join(dir, "accounts.db")
	for _, name := range []string{bridgeA, bridgeB} {
		b.bridges[name] = newBridge(b.ledger, name, bin, filepath.Join(dir, strings.ReplaceAll(name, " ", "-")), b.config())
		b.bridges[name].start()
	}
	b.auditor = audit(b.ledger, b.postgres.URL)
	b.epochs = followRedis(b.ledger, b.redis.Addr)
	b.swapped = followVersions(b.ledger, b.redis.Addr)
	return b
}

func (b *Bank) startServers(dir string) {
	b.t.Helper()
	var err error
	b.postgres, b.redis = sinktest.StartPostgres(b.t), sinktest.StartRedis(b.t, "--appendonly", "yes", "--appendfsync", "always")
	if b.nats, err = newNATS(filepath.Join(dir, "nats"), "bridge", secrets[2]); err != nil {
		b.t.Fatal(err)
	}
	b.add(&server{name: database, dir: b.postgres.Dir(), start: b.postgres.Start, kill: b.postgres.Kill}, fmt.Sprintf("127.0.0.1:%d", b.postgres.Port), dir)
	b.add(&server{name: cache, dir: b.redis.Dir(), start: b.redis.Start, kill: b.redis.Kill}, b.redis.Addr, dir)
	b.add(&server{name: broker, dir: b.nats.Dir, start: b.nats.Start, kill: b.nats.Kill}, b.nats.addr(), dir)
	b.nats.Advertise = b.servers[broker].proxy.Addr
	if err := b.nats.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := b.nats.Close(); err != nil {
			b.t.Errorf("stop nats: %v", err)
		}
	})
}

// add puts a proxy before a server.
func (b *Bank) add(s *server, addr, dir string) {
	b.t.Helper()
	p, err := NewProxy(addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.Close)
	s.proxy, s.keep = p, filepath.Join(dir, "old-"+s.name)
	b.servers[s.name] = s
}

// config is that of both bridges: all servers behind their proxies.
func (b *Bank) config() string {
	postgres := fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", secrets[0], b.servers[database].proxy.Addr)
	redis := fmt.Sprintf("redis://default:%s@%s", secrets[1], b.servers[cache].proxy.Addr)
	bank := e2e.Bank(filepath.Join(b.job.dir, "checkpoints"), postgres, redis)
	return fmt.Sprintf("nats: {url: %q, user: bridge, password: %q, keep: 20s}\n%s  - {name: file, consumers: [accounts], sqlite: {path: %q}}\n",
		"nats://"+b.servers[broker].proxy.Addr, secrets[2], bank, b.targets.SQLite) +
		fmt.Sprintf("  - {name: versions, consumers: [accounts], redis: {url: \"%s/%d\", key: \"accounts:{id}\", publish: swap, grace: 100ms}}\n", redis, versionsDB)
}

// Run lets the faults of one round happen, and ends them all.
func (b *Bank) Run(faults []Fault) {
	b.t.Helper()
	began := time.Now()
	for _, s := range steps(faults) {
		b.until(began.Add(s.at))
		if s.end {
			b.mend(s.Fault)
			continue
		}
		b.fault(s.Fault)
		b.inflict(s.Fault)
	}
}

// until waits, and tends to the bridges meanwhile. Whoever interrupts the run finds nothing of it left.
func (b *Bank) until(t time.Time) {
	b.t.Helper()
	for {
		select {
		case <-b.interrupted:
			b.t.Fatal("interrupted")
		default:
		}
		for _, bridge := range b.bridges {
			bridge.tend()
		}
		left := time.Until(t)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, 200*time.Millisecond))
	}
}

func (b *Bank) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Check lets the job hold still, and waits until every target equals its checkpoint.
func (b *Bank) Check() {
	b.t.Helper()
	b.equal(b.job.still())
	b.job.now.Send("resume")
}

// Close ends the job with a last checkpoint, which every target must come to equal, and then everything else.
func (b *Bank) Close() {
	b.t.Helper()
	b.equal(b.job.now.Stop())
	b.verify()
	b.auditor.end(b.job.digests())
	b.epochs.end()
	b.swapped.end(b.job.digests())
	for _, bridge := range b.bridges {
		bridge.end(secrets)
	}
	b.must(b.postgres.Close())
	b.must(b.redis.Close())
	b.must(b.nats.Close())
	if all := left(b.postgres.Dir(), b.redis.Dir(), b.nats.Dir); len(all) > 0 {
		b.differ("%d processes are left: %q", len(all), all)
	}
	b.finish()
}

// equal waits until all targets hold the rows of a snapshot.
func (b *Bank) equal(snapshot e2e.Event) {
	b.t.Helper()
	want := e2e.Expected(b.t, snapshot.Expected)
	began, fault := time.Now(), ""
	for time.Since(began) < e2e.Patience {
		if fault = b.targets.Differ(want); fault == "" && b.swapped.checkpoint.Load() < snapshot.CheckpointID {
			fault = fmt.Sprintf("redis with swap shows checkpoint %d", b.swapped.checkpoint.Load())
		}
		if fault == "" {
			b.note("all targets equal checkpoint %d, after %.1f s", snapshot.CheckpointID, time.Since(began).Seconds())
			return
		}
		b.until(time.Now().Add(time.Second))
	}
	b.differ("not equal to checkpoint %d after %v: %s", snapshot.CheckpointID, e2e.Patience, fault)
	b.t.FailNow()
}

// verify lets the command say the same as equal.
func (b *Bank) verify() {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), e2e.Build(b.t), "verify", "--config", b.bridges[bridgeA].config.File()).CombinedOutput()
	if err != nil {
		b.differ("statebridge verify: %v\n%.2000s", err, out)
	}
}

// killBackend ends one of the processes that serve the bridges.
func (b *Bank) killBackend(n uint64) {
	b.t.Helper()
	ctx := b.t.Context()
	db, err := pgx.Connect(ctx, b.postgres.URL)
	b.must(err)
	defer db.Close(ctx)
	rows, err := db.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE application_name = 'statebridge' ORDER BY pid")
	b.must(err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	b.must(err)
	if len(pids) == 0 {
		return
	}
	if err := syscall.Kill(pids[n%uint64(len(pids))], syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		b.note("kill a backend: %v", err)
	}
}

func (b *Bank) saveLogs(dir string) {
	if dir == "" {
		return
	}
	for _, bridge := range b.bridges {
		bridge.saveLog(dir)
	}
}
