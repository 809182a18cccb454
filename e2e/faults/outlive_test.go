package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/e2e"
)

// small is a pipeline into a SQLite file, for the snapshots of the demo.
type small struct {
	t         *testing.T
	nats      string // the config of the bus
	snapshots []demodata.Snapshot
	dir, file string
	data      string // of the bridge; "" is beside its log
}

func newSmall(t *testing.T) *small {
	t.Helper()
	return newSmallOn(t, startNATS(t))
}

// newSmallOn has the embedded server where there is no other.
func newSmallOn(t *testing.T, server *natsServer) *small {
	t.Helper()
	snapshots, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	config := "nats: {listen: 127.0.0.1:0}"
	if server != nil {
		config = fmt.Sprintf("nats: {url: %q, user: bridge, password: %q}", "nats://"+server.addr(), secrets[2])
	}
	return &small{t: t, nats: config, snapshots: snapshots, dir: t.TempDir(), file: filepath.Join(t.TempDir(), "accounts.db")}
}

// bridge starts a process with a data directory of its own.
func (s *small) bridge(l *ledger, name string) *bridge {
	s.t.Helper()
	dir := s.t.TempDir()
	if s.data != "" {
		if err := errors.Join(os.MkdirAll(s.data, 0o700), os.Symlink(s.data, filepath.Join(dir, "data"))); err != nil {
			s.t.Fatal(err)
		}
	}
	b := newBridge(l, name, e2e.Build(s.t), dir, s.nats+fmt.Sprintf(`
source: {name: bank, flink: {checkpoints: %q, poll: 100ms}}
consumers:
  - {name: accounts, operator: accounts-op, state: balance, columns: {id: key, balance: value}}
sinks:
  - {name: file, consumers: [accounts], sqlite: {path: %q}}
`, s.dir, s.file))
	b.start()
	return b
}

// arrive lets the next snapshot come, and waits until the table equals it.
func (s *small) arrive(b *bridge) {
	s.t.Helper()
	s.equal(b, s.comes())
}

// comes lets the next snapshot come.
func (s *small) comes() demodata.Snapshot {
	s.t.Helper()
	next := s.snapshots[0]
	s.snapshots = s.snapshots[1:]
	if err := next.Arrive(s.dir); err != nil {
		s.t.Fatal(err)
	}
	return next
}

// equal waits until the table equals a snapshot.
func (s *small) equal(b *bridge, next demodata.Snapshot) {
	s.t.Helper()
	want := e2e.Expected(s.t, "../../cmd/statebridge/demodata/testdata/"+path.Base(next.Path)+".jsonl")["accounts"]
	eventually(s.t, b, "the table equals the snapshot", func() bool {
		got, err := e2e.SQLiteAccounts(s.t.Context(), s.file)
		return err == nil && slices.Equal(got, want)
	})
}

// The NATS server is away for longer than a lease lasts, so that publishing breaks off. The same process goes on when the server is back, and also when it comes back
// with nothing.
func TestRunOutlivesTheBus(t *testing.T) {
	t.Parallel()
	server := startNATS(t)
	s := newSmallOn(t, server)
	b := s.bridge(newLedger(t), "bridge")
	s.arrive(b)
	server.Kill()
	eventually(t, b, "publishing breaks off", func() bool { return bytes.Contains(b.log(), []byte("publishing was interrupted")) })
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.arrive(b)
	server.Kill()
	if err := errors.Join(os.RemoveAll(server.Dir), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.arrive(b)
	b.end(secrets)
}

// A second process with the same config does nothing while the first lives, and all when it is dead.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	s, l := newSmall(t), newLedger(t)
	first := s.bridge(l, "first")
	s.arrive(first)
	second := s.bridge(l, "second")
	eventually(t, second, "the second stands by", func() bool { return bytes.Count(second.log(), []byte("so this one stands by")) == 2 })
	s.arrive(first)
	first.kill()
	if log := second.log(); bytes.Contains(log, []byte("epoch published")) || bytes.Contains(log, []byte("epoch committed")) {
		t.Errorf("the second did not stand by:\n%s", log)
	}
	s.arrive(second)
	second.end(secrets)
}

func eventually(t *testing.T, b *bridge, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(e2e.Patience); !so(); time.Sleep(100 * time.Millisecond) {
		b.process.Running()
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func startNATS(t *testing.T) *natsServer {
	t.Helper()
	s := newTestNATS(t)
	startTestNATS(t, s)
	return s
}

func newTestNATS(t *testing.T) *natsServer {
	t.Helper()
	s, err := newNATS(filepath.Join(t.TempDir(), "nats"), "bridge", secrets[2])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startTestNATS(t *testing.T, s *natsServer) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop nats: %v", err)
		}
	})
}
