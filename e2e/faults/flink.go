package faults

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/e2e"
)

// flinkJob is the bank, which dies and is restored, each time as another job in the same folder.
type flinkJob struct {
	t       testing.TB
	dir     string
	now     *e2e.Job
	lives   []*e2e.Job
	from    string          // the snapshot that it was restored from last
	damaged map[string]bool // checkpoints that we have deleted
	half    string          // the one of which something is left
}

const accounts = 10_000 // beside the bank's own, which has the id 0

func startFlink(t testing.TB, dir string) *flinkJob {
	t.Helper()
	f := &flinkJob{t: t, dir: dir, damaged: map[string]bool{}}
	f.start("")
	f.now.Await(func(e e2e.Event) bool { return e.Event == "barrier" && e.Accounts == accounts+1 })
	return f
}

func (f *flinkJob) start(from string) {
	f.t.Helper()
	args := []string{
		"--seconds", "86400", "--accounts", strconv.Itoa(accounts), "--steady", "true", "--rows", "false", "--rate", "200", "--restarts", "1000000",
	}
	if from != "" {
		args = append(args, "--restore", from)
	}
	f.from = from
	f.now = e2e.StartJob(f.t, e2e.JobOptions{Dir: f.dir, Args: args})
	f.lives = append(f.lives, f.now)
	f.now.Await(started)
}

func started(e e2e.Event) bool { return e.Event == "started" }

// complete lists the checkpoints of the present life that a job can be restored from, oldest first.
func (f *flinkJob) complete() []string {
	f.t.Helper()
	dir := f.now.Await(started).Dir
	files, err := filepath.Glob(filepath.Join(dir, "chk-*", "_metadata"))
	if err != nil {
		f.t.Fatal(err)
	}
	var dirs []string
	for _, file := range files {
		if chk := filepath.Dir(file); !f.damaged[chk] {
			dirs = append(dirs, chk)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return dirs
}

func number(checkpoint string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(checkpoint), "chk-")) // the glob has seen to it
	return n
}

// kill ends the job and its cluster at once.
func (f *flinkJob) kill() { f.now.Kill() }

// restore starts the job again, from its newest checkpoint or from an older one. The oldest may have been half deleted by the job itself when it died.
func (f *flinkJob) restore(older bool) {
	f.t.Helper()
	from := f.from // killed before its first checkpoint
	if all := f.complete(); older && len(all) > 1 {
		from = all[len(all)-2]
	} else if len(all) > 0 {
		from = all[len(all)-1]
	}
	f.start(from)
}

// fail ends the TaskManager.
func (f *flinkJob) fail() {
	f.t.Helper()
	f.settle()
	seen, at := len(f.now.Events()), 0
	f.now.Send("fail")
	f.now.Await(func(e e2e.Event) bool { at++; return at > seen && e.Event == "failed" })
}

// settle waits until the job has gone on after its last failure, and has a checkpoint to go back to that we have not damaged: one may be told of late.
func (f *flinkJob) settle() {
	f.t.Helper()
	good, failures := 0, 0
	for _, e := range f.now.Events() {
		if e.Event == "failed" {
			failures++
		}
	}
	f.now.Await(func(e e2e.Event) bool {
		switch {
		case e.Event == "failed":
			failures--
		case e.Event == "snapshot" && failures == 0 && !f.older(e.CheckpointID):
			good++
		}
		return good == 2
	})
}

func (f *flinkJob) older(id int64) bool {
	dir := f.now.Await(started).Dir
	for chk := range f.damaged {
		if filepath.Dir(chk) == dir && int64(number(chk)) >= id {
			return true
		}
	}
	return false
}

// deleteHalf deletes some of the files of a checkpoint, of the newest or of an older one.
func (f *flinkJob) deleteHalf(n uint64) {
	f.t.Helper()
	f.settle()
	all := f.complete()
	if len(all) == 0 {
		f.t.Fatal("the job has no checkpoint")
	}
	random := rand.New(rand.NewPCG(n, 0))
	f.half = all[random.IntN(len(all))]
	f.damaged[f.half] = true
	files, err := os.ReadDir(f.half)
	if err != nil {
		return // the job was quicker
	}
	for _, file := range files {
		if random.IntN(2) == 0 {
			_ = os.Remove(filepath.Join(f.half, file.Name())) // the job may delete it as well
		}
	}
}

func (f *flinkJob) deleteRest() {
	f.t.Helper()
	if err := os.RemoveAll(f.half); err != nil {
		f.t.Errorf("delete a checkpoint: %v", err)
	}
}

// still pauses the job and gives a checkpoint with its expected rows; what follows it holds the same.
func (f *flinkJob) still() e2e.Event {
	f.t.Helper()
	seen := len(f.now.Events())
	f.now.Send("still")
	asked := 0
	return f.now.Await(func(e e2e.Event) bool {
		asked++
		return asked > seen && e.Event == "snapshot" && e.Expected != ""
	})
}

// digests gives what each checkpoint of each life holds.
func (f *flinkJob) digests() map[state]digests {
	all := map[state]digests{}
	for _, life := range f.lives {
		id := life.Await(started).Job
		for _, e := range life.Events() {
			if e.Event == "barrier" {
				all[state{id, e.CheckpointID}] = digests{e.Digest, e.Others}
			}
		}
	}
	return all
}
