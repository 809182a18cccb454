package e2e

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/sinks/sinktest"
)

// A job that moves is mirrored while it takes a checkpoint a second and deletes the oldest. What a reader sees meanwhile is always one of
// its snapshots, and when the job has stopped, the targets equal the last, row for row.
func TestMirror(t *testing.T) {
	for _, version := range []string{"2.3.0", "1.20.5"} {
		t.Run("flink "+version, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			postgres, redis := sinktest.StartPostgres(t).URL, sinktest.StartRedis(t).URL
			b := NewBridge(t, Build(t), t.TempDir(), Bank(filepath.Join(dir, "checkpoints"), postgres, redis))

			p := b.Start() // before the job: it waits for the first checkpoint
			reader := read(t, postgres)
			job := StartJob(t, JobOptions{Version: version, Dir: dir, Args: []string{"--seconds", "600", "--rate", "1000"}})
			job.Snapshot(12)
			last := job.Stop()
			Connect(t, postgres, redis).Await(p, Expected(t, last.Expected))
			p.Stop()
			reader.check(filepath.Join(dir, "expected"))
		})
	}
}

// A job that is stopped and started from its last checkpoint with another parallelism is another job in the same folder; it is followed, and what
// changed between the two is no more than what the job did.
func TestRescaled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	postgres, redis := sinktest.StartPostgres(t).URL, sinktest.StartRedis(t).URL
	b := NewBridge(t, Build(t), t.TempDir(), Bank(filepath.Join(dir, "checkpoints"), postgres, redis))
	targets := Connect(t, postgres, redis)

	p := b.Start()
	args := []string{"--seconds", "600", "--accounts", "300"}
	job := StartJob(t, JobOptions{Dir: dir, Args: append(args, "--parallelism", "2")})
	job.Snapshot(4)
	last := job.Stop()
	targets.Await(p, Expected(t, last.Expected))
	for _, parallelism := range []string{"3", "1"} {
		job := StartJob(t, JobOptions{Dir: dir, Args: append(args, "--parallelism", parallelism, "--restore", last.Path)})
		job.Snapshot(4)
		last = job.Stop()
		targets.Await(p, Expected(t, last.Expected))
	}
	p.Stop()
}

// A job dies and is started again from its oldest checkpoint, so it does anew, and at another pace, what had been mirrored already. The targets go
// back with it, though the checkpoints of the dead job have the higher numbers at first.
func TestRewound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	postgres, redis := sinktest.StartPostgres(t).URL, sinktest.StartRedis(t).URL
	b := NewBridge(t, Build(t), t.TempDir(), Bank(filepath.Join(dir, "checkpoints"), postgres, redis))
	targets := Connect(t, postgres, redis)

	p := b.Start()
	args := []string{"--seconds", "600", "--accounts", "300", "--interval", "3600000"} // checkpoints only when asked, and one at the start
	job := StartJob(t, JobOptions{Dir: dir, Args: append(args, "--rate", "2000")})
	mirrored := job.Snapshot(1)
	for n := range 4 {
		time.Sleep(300 * time.Millisecond)
		job.Send("checkpoint")
		mirrored = job.Snapshot(n + 2)
	}
	targets.Await(p, Expected(t, mirrored.Expected))
	job.Kill()
	left, err := filepath.Glob(filepath.Join(job.Started().Dir, "chk-*", "_metadata"))
	if err != nil || len(left) == 0 {
		t.Fatalf("the job left %q, %v", left, err)
	}

	oldest := filepath.Dir(slices.MinFunc(left, func(a, b string) int { return number(t, a) - number(t, b) }))
	job = StartJob(t, JobOptions{Dir: dir, Args: append(args, "--rate", "100", "--restore", oldest)})
	if first := job.Snapshot(1); first.CheckpointID > mirrored.CheckpointID {
		t.Errorf("the job goes on with checkpoint %d: it was not rewound behind %d", first.CheckpointID, mirrored.CheckpointID)
	}
	last := job.Stop()
	targets.Await(p, Expected(t, last.Expected))
	p.Stop()
}

// number is the checkpoint's, from the path of its _metadata.
func number(t *testing.T, metadata string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(metadata)), "chk-"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Run from time to time, as from cron, once after each snapshot.
func TestOnce(t *testing.T) {
	snapshots, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	postgres, redis := sinktest.StartPostgres(t).URL, sinktest.StartRedis(t).URL
	b := NewBridge(t, Build(t), t.TempDir(), Bank(dir, postgres, redis))
	targets := Connect(t, postgres, redis)
	for _, s := range snapshots {
		if err := s.Arrive(dir); err != nil {
			t.Fatal(err)
		}
		b.Once()
		want := Expected(t, filepath.Join(repository(t), "cmd/statebridge/demodata/testdata", path.Base(s.Path)+".jsonl"))
		targets.Check(want)
		b.Once() // nothing new
		targets.Check(want)
	}
}
