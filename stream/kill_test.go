package stream

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const killEnv = "STATEBRIDGE_TEST_PUBLISH_INTO"

// TestMain runs the tests, or is the process that TestKilled kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killEnv); dir != "" {
		publishForEver(dir)
	}
	// nats.go leaves this one behind when a connection with acknowledgements pending is closed.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// publishForEver publishes epoch after epoch and prints the number of each once it is committed.
func publishForEver(dir string) {
	t := &fatal{}
	s := source(t, connect(t, dir), "bank")
	p := publisher(t, s, "accounts")
	for {
		last, ok := p.Last()
		e := deltaEpoch(int64(last.Number+1), 3)
		e.Full = !ok
		publish(t, p, e, killRows(last.Number+1)...)
		fmt.Println(last.Number + 1)
	}
}

func killRows(number uint64) []Change {
	rows := make([]Change, 500)
	for i := range rows {
		rows[i] = row('c', i%3, int(number)*1000+i)
	}
	return rows
}

// fatal is a test that is a process.
type fatal struct{ testing.TB }

func (*fatal) Helper()                  {}
func (*fatal) Cleanup(func())           {}
func (*fatal) Context() context.Context { return context.Background() }
func (*fatal) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// Killed at any moment, the embedded server has every epoch whose commit returned, and the next process goes on behind the last one.
func TestKilled(t *testing.T) {
	dir, committed := t.TempDir(), uint64(0)
	for range 4 {
		committed = max(committed, publishAndKill(t, dir, time.Duration(300+rand.IntN(500))*time.Millisecond))
		b := connect(t, dir)
		s := source(t, b, "bank")
		last, ok := publisher(t, s, "accounts").Last()
		if !ok && committed > 0 || last.Number < committed {
			t.Fatalf("epoch %d was committed, the last one is %+v", committed, last)
		}
		epochs, err := s.Epochs(t.Context(), "accounts")
		if err != nil || uint64(len(epochs)) != last.Number {
			t.Fatalf("%d epochs up to %d, %v", len(epochs), last.Number, err)
		}
		for _, e := range epochs[len(epochs)-min(len(epochs), 20):] {
			rows, err := collect(t, s, e)
			if err != nil {
				t.Fatal(err)
			}
			wantChanges(t, rows, killRows(e.Number)...)
		}
		b.Close()
		committed = last.Number
	}
	if committed < 2 {
		t.Fatalf("%d epochs in all", committed)
	}
}

// publishAndKill gives the last number that the process had printed.
func publishAndKill(t *testing.T, dir string, after time.Duration) uint64 {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
	var last uint64
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if last, err = strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	return last
}
