// Package storagetest runs real object stores for the tests of the rooms that read them. Only tests import it.
//
// Every server listens on a loopback address, keeps what it stores in a directory of the test, and is ended by its own id with the test.
package storagetest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is a process of a test.
type server struct {
	Address string // host and port
	output  bytes.Buffer
}

// run starts a program, whose port is asked for first, and waits until it listens. args gets the address.
func run(t testing.TB, program, hint string, env []string, args func(address string) []string) *server {
	t.Helper()
	path := find(t, program, hint)
	s := &server{Address: freeAddress(t)}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, args(s.Address)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &s.output, &s.output, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed below
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Address)
		if err == nil {
			c.Close()
			return s
		}
		select {
		case <-ended:
			t.Fatalf("%s ended before it listened:\n%s", program, s.output.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen after 30 s", program)
		}
	}
}

// find looks in PATH, then where go install puts programs.
func find(t testing.TB, name, hint string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOBIN", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin, paths, _ := strings.Cut(string(out), "\n")
	dirs := []string{bin}
	for _, p := range filepath.SplitList(strings.TrimSpace(paths)) {
		dirs = append(dirs, filepath.Join(p, "bin"))
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); dir != "" && err == nil {
			return path
		}
	}
	t.Fatalf("the tests need %s, which is not installed: %s", name, hint)
	return ""
}

// freeAddress asks the system for a port.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
