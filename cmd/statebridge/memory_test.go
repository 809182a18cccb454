package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/fixture/large"
	"github.com/statebridge/statebridge/config"
)

// TestMemory: whatever is done with a state of many times --memory, the process stays below it, as the kernel counts. The sorts of the heap backend spill: its two
// key groups are each larger than the limit.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process is asked of Linux")
	}
	dir := t.TempDir()
	heap, rocks := filepath.Join(dir, "heap"), filepath.Join(dir, "rocks", "0102030405060708090a0b0c0d0e0f10")
	huge := filepath.Join(dir, "huge")
	if out, err := exec.Command(programNamed(t, "write-large"), heap, rocks, huge).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const limit = "64MiB"
	base := largeBase
	for _, c := range []struct {
		lines int
		args  []string
	}{
		{base.Rows, []string{"export", "--memory", limit, filepath.Join(rocks, "chk-1")}},
		{base.Rows, []string{"export", "--memory", limit, "--parallel", "8", "--temp-dir", dir, filepath.Join(heap, "chk-1")}},
		{hugeBase.Rows, []string{"export", "--memory", limit, "--parallel", "256", huge}},
		{base.Rows / largeEvery, []string{"diff", "--memory", limit, "--temp-dir", dir, filepath.Join(heap, "chk-1"), filepath.Join(heap, "chk-2")}},
		{base.Rows / largeEvery, []string{"diff", "--memory", limit, "--temp-dir", dir, filepath.Join(rocks, "chk-1"), filepath.Join(heap, "chk-2")}},
		{1, []string{"get", "--memory", limit, "--temp-dir", dir, filepath.Join(heap, "chk-1"), "--key", large.Key(1234)}},
		{1, []string{"get", "--memory", limit, filepath.Join(rocks, "chk-1"), "--key", large.Key(1234)}},
	} {
		checkPeak(t, limit, c.lines, c.args...)
	}
	file := filepath.Join(dir, "run.yaml")
	text := fmt.Sprintf(`
source: {name: large, flink: {checkpoints: %q}}
consumers: [{name: rows, operator: %q, state: %q}]
sinks: [{name: lite, consumers: [rows], sqlite: {path: %q}}]
data_dir: %q
log: {level: error}
`, filepath.Dir(rocks), large.Operator, large.State, filepath.Join(dir, "rows.db"), filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	checkPeak(t, "128MiB", 0, "run", "--once", "--memory", "128MiB", "--config", file)
}

// hugeBase has rows of a megabyte, of which many workers would hold as many.
var hugeBase = large.Snapshot{ID: 1, Rows: 200, ValueBytes: 1_000_000, KeyGroups: 8}

var largeBase = large.Snapshot{ID: 1, Rows: 150_000, ValueBytes: 2000, KeyGroups: 2}

// largeEvery says which of the rows differ in the second checkpoint.
const largeEvery = 100

// writeLarge HEAP ROCKSDB HUGE is a program of its own: a process starts with the peak of the one that has started it.
func writeLarge() {
	heap, rocks, huge := os.Args[1], os.Args[2], os.Args[3]
	next := largeBase
	next.ID, next.Seed, next.Every = 2, 1, largeEvery
	err := errors.Join(largeBase.Heap(filepath.Join(heap, "chk-1")), next.Heap(filepath.Join(heap, "chk-2")), largeBase.RocksDB(filepath.Join(rocks, "chk-1")), hugeBase.RocksDB(huge))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkPeak runs the program, which must print so many lines, and looks at the most that it had resident.
func checkPeak(t *testing.T, limit string, lines int, args ...string) {
	t.Helper()
	most, err := config.ParseSize(limit)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programNamed(t, "statebridge"), args...)
	var out counter
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
	}
	peak := config.Size(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10)
	t.Logf("%s: %d MiB, %s", args[0], peak>>20, cmd.ProcessState.UserTime())
	if peak > most {
		t.Errorf("%v: %d bytes resident, and %d are allowed", args, peak, most)
	}
	if int(out) != lines {
		t.Errorf("%v: %d lines, %d expected", args, out, lines)
	}
}

// counter counts lines.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// programNamed gives a path under which this test is one of the programs that TestMain names.
func programNamed(t *testing.T, called string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), called)
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}
