package e2e

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/statebridge/statebridge/sinks/sinktest"
)

var seed = flag.Uint64("seed", 0, "of the points at which TestKill kills; 0: a new one")

// While a job moves, `run` is killed at 20 random points and started again. A reader never sees a mixture, and the targets still end equal to the
// last snapshot.
func TestKill(t *testing.T) {
	points := *seed
	if points == 0 {
		points = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", points)
	random := rand.New(rand.NewPCG(points, 0))

	dir := filepath.Join(t.TempDir(), "job")
	postgres, redis := sinktest.StartPostgres(t).URL, sinktest.StartRedis(t).URL
	b := NewBridge(t, Build(t), t.TempDir(), Bank(filepath.Join(dir, "checkpoints"), postgres, redis))
	job := StartJob(t, JobOptions{Dir: dir, Args: []string{"--seconds", "600", "--interval", "500", "--rate", "2000"}})
	job.Snapshot(1)
	reader := read(t, postgres)

	for range 20 {
		p := b.Start()
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		p.Running()
		p.Kill()
		if random.IntN(4) == 0 { // away so long that the job deletes all that it had
			time.Sleep(2 * time.Second)
		}
	}
	p := b.Start()
	last := job.Stop()
	Connect(t, postgres, redis).Await(p, Expected(t, last.Expected))
	p.Stop()
	reader.check(filepath.Join(dir, "expected"))
}
