package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/e2e"
)

// as starts a bridge of a role. Where it only applies, the checkpoints that its config names are not there.
func (s *small) as(l *ledger, role string) *bridge {
	s.t.Helper()
	here, nats := s.dir, s.nats
	defer func() { s.dir, s.nats = here, nats }()
	if role == "apply" {
		s.dir = filepath.Join(here, "elsewhere")
	}
	s.nats += "\nrole: " + role
	return s.bridge(l, role)
}

// TestRoles: one process publishes, another applies, and neither does the other's part. Each may die and a second of its role takes over; a table that was emptied gets
// its full epoch across the processes.
func TestRoles(t *testing.T) {
	t.Parallel()
	s, l := newSmall(t), newLedger(t)
	sink := s.as(l, "apply")
	publisher := s.as(l, "publish")
	s.arrive(sink)
	standby := s.as(l, "apply")
	eventually(t, standby, "the second sink stands by", func() bool { return bytes.Contains(standby.log(), []byte("so this one stands by")) })
	s.arrive(sink)
	if bytes.Contains(sink.log(), []byte("epoch published")) || bytes.Contains(publisher.log(), []byte("epoch committed")) {
		t.Error("one did the other's part")
	}
	sink.kill()
	s.arrive(standby)
	publisher.kill()
	second := s.as(l, "publish")
	s.arrive(standby)
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*bridge{standby, second} {
		b.end(secrets)
	}
	last := s.as(l, "apply")
	second = s.as(l, "publish")
	s.arrive(last)
	last.end(secrets)
	second.end(secrets)
}

// TestSharedDataDirectory: a second process on the same data directory is refused, though the server is elsewhere, and disturbs nothing.
func TestSharedDataDirectory(t *testing.T) {
	t.Parallel()
	s := newSmall(t)
	s.data = filepath.Join(t.TempDir(), "data")
	b := s.bridge(newLedger(t), "first")
	s.arrive(b)
	second := e2e.NewBridge(t, e2e.Build(t), t.TempDir(), s.nats+fmt.Sprintf("\nsource: {name: bank, flink: {checkpoints: %q}}\nconsumers: [{name: a, operator: accounts-op, state: balance}]\n", s.dir))
	if err := os.Symlink(s.data, filepath.Join(filepath.Dir(second.File()), "data")); err != nil {
		t.Fatal(err)
	}
	p := second.Start()
	deadline := time.Now().Add(e2e.Patience)
	code, ended := p.Ended()
	for ; !ended; code, ended = p.Ended() {
		if time.Now().After(deadline) {
			t.Fatal("not refused")
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, err := os.ReadFile(second.Log())
	if want := fmt.Sprintf("data directory is in use by process %d", b.process.Pid()); err != nil || code != 1 || !strings.Contains(string(said), want) {
		t.Errorf("exit code %d, %v; %s", code, err, said)
	}
	s.arrive(b)
	b.end(secrets)
}
