package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serveNATS is the argument that makes this program a NATS server on a directory: a process of its own, as users have it, in which nobody's
// garbage is collected but the server's.
const serveNATS = "serve-nats"

// natsServer serves on a loopback port, which it prints as a URL, until it is told to end.
func natsServer(dir string) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return fmt.Errorf("the NATS server on %s is not ready", dir)
	}
	fmt.Println(s.ClientURL())
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	<-ended
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// natsProcess is that server and a connection to it.
type natsProcess struct {
	url  string
	conn *nats.Conn
	js   jetstream.JetStream
	dir  string
	cmd  *exec.Cmd
}

func startNATS(ctx context.Context, dir string) (*natsProcess, error) {
	n := &natsProcess{dir: filepath.Join(dir, "nats")}
	if err := os.RemoveAll(n.dir); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n.cmd = exec.CommandContext(ctx, self, serveNATS, n.dir)
	n.cmd.Stderr = os.Stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the NATS server did not start: %w", err)
	}
	n.url = strings.TrimSpace(url)
	if n.conn, err = nats.Connect(n.url); err != nil {
		return nil, err
	}
	n.js, err = jetstream.New(n.conn, jetstream.WithPublishAsyncMaxPending(1<<20), jetstream.WithPublishAsyncTimeout(time.Minute))
	return n, err
}

// clear deletes all streams, so that each run starts on an empty disk.
func (n *natsProcess) clear(ctx context.Context) error {
	names := n.js.StreamNames(ctx)
	for name := range names.Name() {
		if err := n.js.DeleteStream(ctx, name); err != nil {
			return err
		}
	}
	return names.Err()
}

// timed measures what f does: time, and CPU of this process and the server, which a busy machine falsifies less.
func (n *natsProcess) timed(f func() error) (sample, error) {
	cpu, start := n.cpu(), time.Now()
	err := f()
	return sample{wall: time.Since(start), cpu: n.cpu() - cpu}, err
}

// cpu is what both processes have used; 0 where the kernel does not tell.
func (n *natsProcess) cpu() time.Duration {
	var own syscall.Rusage
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	_, numbers, found := strings.Cut(string(stat), ") ") // behind the command's name
	fields := strings.Fields(numbers)
	if err != nil || !found || len(fields) < 13 || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // in hundredths of a second
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + time.Duration(user+system)*10*time.Millisecond
}

func (n *natsProcess) stop() error {
	n.conn.Close()
	if err := n.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	_ = n.cmd.Wait() // by a signal
	return os.RemoveAll(n.dir)
}
