package stream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestJoin: a second process that asks for it is let in to the embedded server of the first, and starts one where there is none.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	host, err := Connect(t.Context(), Options{Dir: dir, Join: true, User: "u", Password: "p", Listen: "127.0.0.1:0"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if !host.Embedded() {
		t.Error("no server of its own")
	}
	info, err := os.Stat(filepath.Join(dir, "socket"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if _, err := Connect(t.Context(), Options{Dir: dir, Join: true}, quiet()); err == nil {
		t.Error("let in without a password")
	}
	guest, err := Connect(t.Context(), Options{Dir: dir, Join: true, User: "u", Password: "p"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	e := publish(t, publisher(t, source(t, host, "bank"), "accounts"), fullEpoch(1, 2), row('r', 0, 1))
	if head, ok, err := source(t, guest, "bank").Head(t.Context(), "accounts"); err != nil || !ok || head.Attempt != e.Attempt || *head.Rows != 1 {
		t.Errorf("%v, %t, %v", head, ok, err)
	}
}

// TestJoinWaitsForTheDoor of a process that has the directory and is still starting its server.
func TestJoinWaitsForTheDoor(t *testing.T) {
	o := Options{Dir: t.TempDir(), Join: true}
	lock, err := lockDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	time.AfterFunc(300*time.Millisecond, func() { _ = lock.Close() }) // ends without having opened it
	b, err := Connect(t.Context(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !b.Embedded() || time.Since(began) < 300*time.Millisecond {
		t.Errorf("embedded: %t, after %s", b.Embedded(), time.Since(began))
	}
}

// TestDoorOfALongPath: an address that no socket can have keeps nobody from running, and who wants in is told.
func TestDoorOfALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	host, err := Connect(t.Context(), Options{Dir: dir}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	_, err = Connect(t.Context(), Options{Dir: dir, Join: true}, quiet())
	if err == nil || errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "lets nobody in") {
		t.Errorf("err = %v", err)
	}
}
