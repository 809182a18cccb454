//go:build linux

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// A disk of a few megabytes, and how to fill it and to make room again.
type disk struct {
	dir        string
	fill, room func()
}

// limited is a disk that takes no file beyond a limit, as with a quota. Every process may have such a one.
func limited(t *testing.T) disk {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	set := func(n uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	room := func() { set(old.Cur) }
	t.Cleanup(room)
	return disk{t.TempDir(), func() { set(512 << 10) }, room}
}

// mounted is a file system of its own, where this user may have one.
func mounted(t *testing.T) disk {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=30m"); err != nil {
		t.Skipf("mount: %v. The limit of a file's size stands in for a full disk", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	fill := func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n, err := io.Copy(f, zeros{})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err := f.Truncate(n - 256<<10); err != nil {
			t.Fatal(err)
		}
	}
	return disk{dir, fill, func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestFullDisk: the embedded server runs into a full disk, twice. It is said, nothing that was published is lost, and the same bus goes on once there is room.
func TestFullDisk(t *testing.T) {
	for name, small := range map[string]func(*testing.T) disk{"limit of a file": limited, "file system": mounted} {
		t.Run(name, func(t *testing.T) {
			d := small(t)
			b := connect(t, filepath.Join(d.dir, "data"), func(o *Options) { o.Listen = "127.0.0.1:0" })
			s, url, id := source(t, b, "bank"), b.ClientURL(), b.generation()
			epochs := []Epoch{publish(t, publisher(t, s, "accounts"), fullEpoch(1, 2), row('r', 0, 1), row('r', 1, 2))}
			for range 2 {
				d.fill()
				epochs = append(epochs, publishUntilFull(t, s, epochs)...)
				within(t, 10*time.Second, "it is said", func() bool { return b.Fault() != nil })
				d.room()
				within(t, 20*time.Second, "it stores again", func() bool { return b.Fault() == nil })
				if b.ClientURL() != url || b.generation() != id {
					t.Errorf("%s of generation %s, was %s of %s", b.ClientURL(), b.generation(), url, id)
				}
				p := reopen(t, s)
				last, ok := p.Last()
				if newest := epochs[len(epochs)-1]; !ok || last.Number < newest.Number || last.Chain != newest.Chain {
					t.Fatalf("epoch %v is the last, was %v", last, newest)
				}
				if last.Number > epochs[len(epochs)-1].Number { // whose answer was lost
					epochs = append(epochs, last)
				}
				epochs = append(epochs, publish(t, p, deltaEpoch(last.Snapshot.CheckpointID+1, 2), row('u', 1, 5)))
			}
			for _, e := range epochs {
				if _, err := collect(t, s, e); err != nil {
					t.Errorf("epoch %v: %v", e, err)
				}
			}
			t.Logf("%d epochs", len(epochs))
		})
	}
}

// A server that has used up what it allowed itself when there was less room is started anew.
func TestLimitOfTheStart(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.JetStreamMaxStore = 8 << 20 })
	b, err := tryDial(t, s, func(*Options) {})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err, _ := limitFault(s, t.TempDir()); err != nil {
		t.Errorf("an empty one: %v", err)
	}
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "others", Subjects: []string{"others"}}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = b.js.Publish(t.Context(), "others", make([]byte, 200<<10))
	}
	if err, helps := limitFault(s, t.TempDir()); err == nil || !helps {
		t.Errorf("a full one: %v, %t", err, helps)
	}
}

// publishUntilFull gives the epochs that were published.
func publishUntilFull(t *testing.T, s *Source, before []Epoch) (epochs []Epoch) {
	t.Helper()
	p, last := publisher(t, s, "accounts"), before[len(before)-1]
	for n := range 1000 {
		e, err := tryEpoch(t, p, deltaEpoch(last.Snapshot.CheckpointID+1, 2), 20)
		if err != nil {
			t.Logf("full after %d epochs: %v", n, err)
			return epochs
		}
		epochs, last = append(epochs, e), e
	}
	t.Fatal("the disk takes it all")
	return nil
}

// tryEpoch publishes rows of 1 KB.
func tryEpoch(t *testing.T, p *Publisher, e Epoch, rows int) (Epoch, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	w, err := p.Begin(ctx, e)
	if err != nil {
		return Epoch{}, fmt.Errorf("begin: %w", err)
	}
	defer w.Abort()
	for n := range rows {
		if err := w.Append(ctx, Change{Op: 'c', Partition: n % e.Partitions, Key: row('c', 0, n).Key, After: sized(1 << 10)}); err != nil {
			return Epoch{}, err
		}
	}
	return w.Commit(ctx)
}

func within(t *testing.T, limit time.Duration, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
