package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// JobOptions say which job to run; Args are those of e2e/flink, as "--seconds", "20".
type JobOptions struct {
	Version string // of Flink; empty: 2.3.0
	Mode    string // moving, rounds or bulk; empty: moving
	Dir     string // empty: a folder of the test
	Args    []string
}

// An Event is one line that the job printed.
type Event struct {
	Event        string `json:"event"` // started, barrier, snapshot, failed, counts or end
	Kind         string `json:"kind"`
	CheckpointID int64  `json:"checkpoint_id"`
	Path         string `json:"path"`     // of the snapshot
	Expected     string `json:"expected"` // rows that it must hold
	Rows         int    `json:"rows"`
	Accounts     int    `json:"accounts"` // of a barrier
	Digest       int64  `json:"digest"`   // of the balances: the sum of balance * (id % 1009 + 1)
	Others       int64  `json:"others"`   // of the profiles and carts: the sum of level * (key % 1009 + 1) and of value * 7
	Job          string `json:"job"`
	Dir          string `json:"dir"`  // where the checkpoints are
	REST         string `json:"rest"` // address of the JobManager
}

// A Job is a Flink job that runs in a process of its own.
type Job struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	done   chan struct{} // closed once the process has ended and err is set
	err    error

	mu     sync.Mutex
	news   chan struct{} // closed and made anew with each event
	events []Event
}

// StartJob starts a job, building it when needed. It is killed when the test ends.
func StartJob(t testing.TB, o JobOptions) *Job {
	t.Helper()
	if o.Version == "" {
		o.Version = "2.3.0"
	}
	if o.Mode == "" {
		o.Mode = "moving"
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "job")
	}
	line := BuildFlink(t, o.Version)
	args := append([]string{line, "--mode", o.Mode, "--dir", o.Dir, "--stdin", "true"}, o.Args...)
	j := &Job{
		t:    t,
		cmd:  exec.CommandContext(t.Context(), filepath.Join(repository(t), "e2e", "flink", "bank.sh"), args...),
		done: make(chan struct{}),
		news: make(chan struct{}),
	}
	j.start()
	t.Cleanup(j.Kill)
	return j
}

func (j *Job) start() {
	j.t.Helper()
	stdin, err := j.cmd.StdinPipe() // its end ends a moving job, should this process die
	if err != nil {
		j.t.Fatal(err)
	}
	stdout, err := j.cmd.StdoutPipe()
	if err != nil {
		j.t.Fatal(err)
	}
	j.stdin, j.cmd.Stderr = stdin, &j.stderr
	if err := j.cmd.Start(); err != nil {
		j.t.Fatalf("start the job: %v", err)
	}
	go func() {
		defer close(j.done)
		j.read(stdout)
		j.err = j.cmd.Wait()
	}()
}

func (j *Job) read(stdout io.Reader) {
	for s := bufio.NewScanner(stdout); s.Scan(); {
		var e Event
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue // a library that prints
		}
		j.mu.Lock()
		j.events = append(j.events, e)
		close(j.news)
		j.news = make(chan struct{})
		j.mu.Unlock()
	}
}

// Started waits until the job runs.
func (j *Job) Started() Event {
	j.t.Helper()
	return j.Await(func(e Event) bool { return e.Event == "started" })
}

// Snapshot waits for the n-th snapshot, from 1.
func (j *Job) Snapshot(n int) Event {
	j.t.Helper()
	seen := 0
	return j.Await(func(e Event) bool {
		if e.Event == "snapshot" {
			seen++
		}
		return seen == n
	})
}

// Patience is how long a test waits for what takes seconds on a machine that is not busy.
const Patience = 10 * time.Minute

// Await waits for the first event that is wanted; each is asked about once, in order.
func (j *Job) Await(wanted func(Event) bool) Event {
	j.t.Helper()
	timeout := time.After(Patience)
	for next := 0; ; {
		j.mu.Lock()
		events, news := j.events[next:], j.news
		j.mu.Unlock()
		for _, e := range events {
			if wanted(e) {
				return e
			}
		}
		next += len(events)
		select {
		case <-news:
		case <-j.done:
			if j.count() == next {
				j.t.Fatalf("the job ended: %v\n%s", j.err, j.stderr.Bytes())
			}
		case <-timeout:
			j.t.Fatal("the job did not come so far in time")
		}
	}
}

// Events gives all there have been.
func (j *Job) Events() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

func (j *Job) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

// Send tells a moving job to pause, resume, checkpoint or stop.
func (j *Job) Send(command string) {
	j.t.Helper()
	if _, err := io.WriteString(j.stdin, command+"\n"); err != nil {
		j.t.Fatalf("tell the job to %s: %v", command, err)
	}
}

// End waits until the job has stopped by itself and returns its last snapshot.
func (j *Job) End() Event {
	j.t.Helper()
	end := j.Await(func(e Event) bool { return e.Event == "end" })
	<-j.done
	if j.err != nil {
		j.t.Fatalf("the job failed: %v\n%s", j.err, j.stderr.Bytes())
	}
	return end
}

// Stop lets the job take its last snapshot, and returns that.
func (j *Job) Stop() Event {
	j.t.Helper()
	j.Send("stop")
	return j.End()
}

// Kill ends the process at once, as kill -9 does, and leaves behind what was half written.
func (j *Job) Kill() {
	if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		j.t.Errorf("kill the job: %v", err)
	}
	<-j.done
}
