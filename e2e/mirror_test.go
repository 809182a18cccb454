package e2e

import (
	"path"
	"path/filepath"
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
			Connect(t, postgres, redis).Await(p, Expected(t, last.Expected), time.Minute)
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
	targets.Await(p, Expected(t, last.Expected), time.Minute)
	for _, parallelism := range []string{"3", "1"} {
		job := StartJob(t, JobOptions{Dir: dir, Args: append(args, "--parallelism", parallelism, "--restore", last.Path)})
		job.Snapshot(4)
		last = job.Stop()
		targets.Await(p, Expected(t, last.Expected), time.Minute)
	}
	p.Stop()
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
