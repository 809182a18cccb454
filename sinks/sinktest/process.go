package sinktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a server that this program started. It is ended by its own id and by nothing else.
type process struct {
	path string
	args []string
	as   *syscall.Credential
	dir  string

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	output bytes.Buffer // valid once ended is closed
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output.Reset()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &p.output, &p.output
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // how it ended is of no interest, that it ended is
		close(ended)
	}()
	return nil
}

// await tries until ready says yes, the process ends or time is up.
func (p *process) await(ready func() error) error {
	deadline := time.After(30 * time.Second)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended before it was ready:\n%s", filepath.Base(p.path), p.output.String())
		case <-deadline:
			return fmt.Errorf("%s is not ready after 30 s: %w", filepath.Base(p.path), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signal sends a signal and waits for the end; a server that does not care is killed after a while.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(s) // it may have ended already
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	p.cmd = nil
}

// Dir holds the server's files.
func (p *process) Dir() string { return p.dir }

// find looks for a program in PATH, then where distributions hide it.
func find(name, hint string, patterns ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // the patterns are our own and well formed
		if slices.Sort(found); len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("the tests need %s, which is not installed: %s", name, hint)
}

// unprivileged is who servers run as that refuse to be run by root; nil, ourselves, unless we are.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err, gidErr)
}

// freePort asks the system for one. Nothing holds it until the server does, so a start may have to be tried again.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// server is what the helpers below need of each kind.
type server interface{ Close() error }

// started fails the test unless a server came up, and ends it with the test.
func started[S server](t testing.TB, open func(context.Context) (S, error)) S {
	t.Helper()
	s, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stopping a server: %v", err)
		}
	})
	return s
}

// FreePort gives a loopback port that nobody holds yet.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
