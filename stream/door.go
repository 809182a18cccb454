package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/nats-io/nats.go"
)

// door lets processes of the same user reach an embedded server that does not listen: a socket in its directory, which nobody else can enter.
type door struct {
	listener net.Listener
	host     nats.InProcessConnProvider
	stop     context.CancelFunc
	guests   sync.WaitGroup
}

// doorPath is the shorter of two ways to name the socket: systems take some 100 bytes at most.
func doorPath(dir string) string {
	path := filepath.Join(dir, "socket")
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	cwd, err := os.Getwd()
	if err != nil {
		return abs
	}
	if rel, err := filepath.Rel(cwd, abs); err == nil && len(rel) < len(abs) {
		return rel
	}
	return abs
}

// openDoor is called by who holds the directory's lock, so that what is there is left over.
func openDoor(ctx context.Context, dir string, host nats.InProcessConnProvider) (*door, error) {
	path := doorPath(dir)
	_ = os.Remove(path)
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &door{listener: l, host: host, stop: cancel}
	d.guests.Go(func() { d.welcome(open) })
	return d, nil
}

func (d *door) welcome(ctx context.Context) {
	for {
		guest, err := d.listener.Accept()
		if err != nil { // closed
			return
		}
		d.guests.Go(func() { d.serve(ctx, guest) })
	}
}

// serve carries bytes both ways until one side ends or the door is closed.
func (d *door) serve(ctx context.Context, guest net.Conn) {
	host, err := d.host.InProcessConn()
	if err != nil {
		_ = guest.Close()
		return
	}
	shut := func() { _, _ = guest.Close(), host.Close() }
	defer context.AfterFunc(ctx, shut)()
	var both sync.WaitGroup
	both.Go(func() { defer shut(); _, _ = io.Copy(host, guest) })
	both.Go(func() { defer shut(); _, _ = io.Copy(guest, host) })
	both.Wait()
}

func (d *door) close() {
	_ = d.listener.Close() // which removes the socket
	d.stop()
	d.guests.Wait()
}

// errDoorShut: the process that holds the directory has only begun, or is about to end.
var errDoorShut = errors.New("its socket does not answer")

// knocker dials the door of another process, whatever address it is told.
type knocker struct{ dir string }

// Dial implements nats.CustomDialer.
func (k knocker) Dial(string, string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", doorPath(k.dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w: %w", errDoorShut, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the process that uses %s lets nobody in: %w", k.dir, err)
	}
	return c, nil
}
