//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"
)

// limits are those that a server of one's own sets: each is reached, told, and raised or freed while run goes on.
var limits = map[string]struct {
	options func(*natsServer)
	reach   func(t *testing.T, js jetstream.JetStream)
	free    func(t *testing.T, js jetstream.JetStream)
	says    string
}{
	"server":  {func(s *natsServer) { s.MaxStore = 8 << 20 }, fillWithOthers, deleteOthers, "insufficient resources"},
	"account": {func(s *natsServer) { s.MaxAccount = 8 << 20 }, fillWithOthers, deleteOthers, "resource limits exceeded for account"},
	"stream":  {func(*natsServer) {}, limitStream, unlimitStream, "maximum bytes exceeded"},
}

// TestRunOutlivesLimits: it is said what is reached, the table stays as it is, and all goes on by itself.
func TestRunOutlivesLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTestNATS(t)
			limit.options(server)
			startTestNATS(t, server)
			s := newSmallOn(t, server)
			b := s.bridge(newLedger(t), "bridge")
			before := s.comes()
			s.equal(b, before)
			js := jetStreamOf(t, server)
			limit.reach(t, js)
			next := s.comes()
			eventually(t, b, "the limit is told", func() bool { return bytes.Contains(b.log(), []byte(limit.says)) })
			time.Sleep(12 * time.Second) // longer than a lease
			if log := b.log(); bytes.Contains(log, []byte("the lease is lost")) || bytes.Contains(log, []byte("stands by")) {
				t.Error("a lease was lost to nobody")
			}
			s.equal(b, before)
			limit.free(t, js)
			s.equal(b, next)
			b.end(secrets)
		})
	}
}

func fillWithOthers(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "others", Subjects: []string{"others"}})
	if err != nil {
		t.Fatal(err)
	}
	for size := 512 << 10; size >= 16; size /= 2 {
		for err == nil {
			_, err = js.Publish(t.Context(), "others", make([]byte, size))
		}
		if api := new(jetstream.APIError); !errors.As(err, &api) {
			t.Fatal(err)
		}
		err = nil
	}
}

func deleteOthers(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	if err := js.DeleteStream(t.Context(), "others"); err != nil {
		t.Fatal(err)
	}
}

func limitStream(t *testing.T, js jetstream.JetStream)   { t.Helper(); limitStreamTo(t, js, 1) }
func unlimitStream(t *testing.T, js jetstream.JetStream) { t.Helper(); limitStreamTo(t, js, -1) }

// limitStreamTo lets the stream hold a byte more than it holds, or whatever comes.
func limitStreamTo(t *testing.T, js jetstream.JetStream, more int64) {
	t.Helper()
	s, err := js.Stream(t.Context(), "statebridge_bank")
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	if c.MaxBytes = more; more > 0 {
		c.MaxBytes += int64(s.CachedInfo().State.Bytes)
	}
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func jetStreamOf(t *testing.T, s *natsServer) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect(s.addr(), nats.UserInfo(s.User, s.Password))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// A full disk: of the data directory with the embedded server, or of a server of one's own. The latter has to be started anew by whoever runs it, once there is room; run goes on
// by itself in both.
func TestRunOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	for name, outside := range map[string]bool{"embedded": false, "outside": true} {
		t.Run(name+", a file system", func(t *testing.T) {
			t.Parallel()
			d := t.TempDir()
			if err := syscall.Mount("tmpfs", d, "tmpfs", 0, "size=30m"); err != nil {
				t.Skipf("mount: %v. The limit of the size of files stands in for a full file system", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(d, 0); err != nil {
					t.Error(err)
				}
			})
			ballast := filepath.Join(d, "ballast")
			fullDisk(t, outside, d, func(int) { fill(t, ballast) }, func(int) {
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
			})
		})
		t.Run(name+", the size of files", func(t *testing.T) {
			t.Parallel()
			fullDisk(t, outside, t.TempDir(), func(pid int) { limitFiles(t, pid, 600<<10) }, func(pid int) { limitFiles(t, pid, unix.RLIM_INFINITY) })
		})
	}
}

func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// limitFiles lets a process write no file beyond a size, as a quota would.
func limitFiles(t *testing.T, pid int, most uint64) {
	t.Helper()
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Fatal(err)
	}
}

func fullDisk(t *testing.T, outside bool, disk string, full, room func(pid int)) {
	var server *natsServer
	says := "the embedded server can't store"
	if outside {
		says = "publishing was interrupted"
		server = newTestNATS(t)
		server.Dir = filepath.Join(disk, "nats")
		startTestNATS(t, server)
	}
	s := newSmallOn(t, server)
	if !outside {
		s.data = filepath.Join(disk, "data")
	}
	b := s.bridge(newLedger(t), "bridge")
	before := s.comes()
	s.equal(b, before)
	pid := b.process.Pid()
	if outside {
		pid = server.cmd.Process.Pid
	}
	swell(t, server, filepath.Join(disk, "data"))
	full(pid)
	next := s.comes()
	eventually(t, b, "it is told", func() bool { return bytes.Contains(b.log(), []byte(says)) })
	s.equal(b, before)
	room(pid)
	if outside {
		server.Kill()
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.equal(b, next)
	s.arrive(b)
	b.end(secrets)
}

// swell lets the server's files grow beyond the limit that they will have.
func swell(t *testing.T, server *natsServer, data string) {
	t.Helper()
	var conn *nats.Conn
	var err error
	if server != nil {
		conn, err = nats.Connect(server.addr(), nats.UserInfo(server.User, server.Password))
	} else {
		var lock []byte
		if lock, err = os.ReadFile(filepath.Join(data, "nats", "lock")); err == nil {
			conn, err = nats.Connect(string(bytes.Fields(lock)[1]))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, subject := range []string{"statebridge.bank.filler.0", "$KV.statebridge_bank_registry.filler", "$KV.statebridge_bank_epochs.filler.1"} {
		if _, err := js.Publish(ctx, subject, make([]byte, 700<<10)); err != nil {
			t.Fatal(err)
		}
	}
}
