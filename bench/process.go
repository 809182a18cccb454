package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

// measure runs a process to its end, which must be a good one. A nil stdout is the null device.
func measure(ctx context.Context, stdout io.Writer, env []string, command ...string) (sample, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Environ(), env...), stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start), said: stderr.String()}
	if err != nil {
		return s, fmt.Errorf("%v: %w\n%s", command, err, s.said)
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
