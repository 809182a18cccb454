package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A Bridge is the statebridge command and one configuration of it: the processes that it starts follow each other, never two at a time.
type Bridge struct {
	t      testing.TB
	bin    string
	config string
	log    *os.File // what all of them said
}

// NewBridge writes the config into dir, which also holds the data directory and the log. The end of the log is shown when the test fails.
func NewBridge(t testing.TB, bin, dir, config string) *Bridge {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bridge.yaml")
	if err := os.WriteFile(file, []byte(config+"\ndata_dir: "+filepath.Join(dir, "data")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Bridge{t: t, bin: bin, config: file, log: log}
	t.Cleanup(b.close)
	return b
}

// File is the config.
func (b *Bridge) File() string { return b.config }

// Log is the file that all processes of the bridge have written to.
func (b *Bridge) Log() string { return b.log.Name() }

func (b *Bridge) close() {
	b.log.Close()
	if !b.t.Failed() {
		return
	}
	all, err := os.ReadFile(b.log.Name())
	if err != nil {
		b.t.Log(err)
	}
	b.t.Logf("the log ends with:\n%s", all[max(0, len(all)-20_000):])
}

// Once runs `run --once` and fails the test unless it exits with 0 in time.
func (b *Bridge) Once() {
	b.t.Helper()
	p := b.Start("--once")
	if err := p.wait(Patience); err != nil {
		b.t.Fatalf("run --once: %v", err)
	}
}

// A Process is one `statebridge run`.
type Process struct {
	b    *Bridge
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended and err is set
	err  error
}

// Start starts `run`; it is killed when the test ends.
func (b *Bridge) Start(args ...string) *Process {
	b.t.Helper()
	p := &Process{b: b, done: make(chan struct{})}
	p.cmd = exec.CommandContext(b.t.Context(), b.bin, append([]string{"run", "--config", b.config}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = b.log, b.log
	if err := p.cmd.Start(); err != nil {
		b.t.Fatalf("start statebridge: %v", err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	b.t.Cleanup(p.Kill)
	return p
}

func (p *Process) wait(limit time.Duration) error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(limit):
		return context.DeadlineExceeded
	}
}

// Kill ends the process at once, as kill -9 does.
func (p *Process) Kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.b.t.Errorf("kill statebridge: %v", err)
	}
	<-p.done
}

// Signal sends a signal to a process that may have ended.
func (p *Process) Signal(s os.Signal) {
	p.b.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.b.t.Errorf("signal %s to statebridge: %v", s, err)
	}
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended says whether the process has ended, and with which exit code; -1 when a signal ended it.
func (p *Process) Ended() (code int, ended bool) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), true
	default:
		return 0, false
	}
}

// Stop asks the process to end, as a service manager does, and fails the test unless it exits with 0 in time.
func (p *Process) Stop() {
	p.b.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.b.t.Fatalf("stop statebridge: %v", err)
	}
	if err := p.wait(Patience); err != nil {
		p.b.t.Fatalf("statebridge did not stop as asked: %v", err)
	}
}

// Running fails the test when the process has ended by itself.
func (p *Process) Running() {
	p.b.t.Helper()
	select {
	case <-p.done:
		p.b.t.Fatalf("statebridge ended by itself: %v", p.err)
	default:
	}
}

// Output runs a command of the binary that prints to stdout, and fails the test unless it exits with 0.
func Output(t testing.TB, bin string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("statebridge %q: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}
