package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A sample is one run of one process.
type sample struct {
	wall time.Duration
	cpu  time.Duration // user and system, of all threads
	rss  int64         // peak, bytes
	said string        // on stderr
}

// measure runs a process to its end, which must be a good one. A nil stdout is the null device. When ctx ends first, the process is asked for the stacks of its
// threads, which a JVM prints to stdout and Go to stderr, and has a moment to do so.
func measure(ctx context.Context, stdout io.Writer, env []string, command ...string) (sample, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Environ(), env...), stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start), said: stderr.String()}
	if err != nil {
		return s, fmt.Errorf("%v: %w\n%s", command, cmp.Or(context.Cause(ctx), err), s.said)
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = usage.Maxrss << 10 // Linux counts KiB
	}
	return s, nil
}

// lines counts what is written to it.
type lines int

func (n *lines) Write(p []byte) (int, error) {
	*n += lines(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// running is a process that goes on until it is stopped.
type running struct {
	cmd   *exec.Cmd
	ended chan error
	said  bytes.Buffer // valid once ended has given something
}

func startProcess(ctx context.Context, env []string, command ...string) (*running, error) {
	r := &running{cmd: exec.CommandContext(ctx, command[0], command[1:]...), ended: make(chan error, 1)}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = append(r.cmd.Environ(), env...), &r.said, &r.said
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { r.ended <- r.cmd.Wait() }()
	return r, nil
}

// stop ends the process and waits for it. With which status it ends is of no interest, since it was told to.
func (r *running) stop() error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := <-r.ended; !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	return nil
}
