package faults

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/e2e"
)

// The NATS server is away for longer than a lease lasts, so that publishing breaks off. The same process goes on when the server is back.
func TestRunOutlivesTheBus(t *testing.T) {
	snapshots, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "accounts.db")
	server := startNATS(t)
	bridge := newBridge(newLedger(t), "bridge", e2e.Build(t), t.TempDir(), fmt.Sprintf(`nats: {url: %q, user: bridge, password: %q}
source: {name: bank, flink: {checkpoints: %q, poll: 100ms}}
consumers:
  - {name: accounts, operator: accounts-op, state: balance, columns: {id: key, balance: value}}
sinks:
  - {name: file, consumers: [accounts], sqlite: {path: %q}}
`, "nats://"+server.addr(), secrets[2], dir, file))
	bridge.start()
	arrives := func(s demodata.Snapshot) {
		t.Helper()
		if err := s.Arrive(dir); err != nil {
			t.Fatal(err)
		}
		want := e2e.Expected(t, "../../cmd/statebridge/demodata/testdata/"+path.Base(s.Path)+".jsonl")["accounts"]
		eventually(t, bridge, "the table equals the snapshot", func() bool {
			got, err := e2e.SQLiteAccounts(t.Context(), file)
			return err == nil && slices.Equal(got, want)
		})
	}
	arrives(snapshots[0])
	server.Kill()
	eventually(t, bridge, "publishing breaks off", func() bool { return bytes.Contains(bridge.log(), []byte("publishing was interrupted")) })
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	arrives(snapshots[1])
	bridge.end(secrets)
}

func eventually(t *testing.T, b *bridge, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(100 * time.Millisecond) {
		b.process.Running()
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func startNATS(t *testing.T) *natsServer {
	t.Helper()
	s, err := newNATS(filepath.Join(t.TempDir(), "nats"), "bridge", secrets[2])
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop nats: %v", err)
		}
	})
	return s
}
