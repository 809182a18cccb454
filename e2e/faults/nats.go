package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsVariable makes this program a NATS server: it holds natsOptions.
const natsVariable = "STATEBRIDGE_FAULTS_NATS"

type natsOptions struct {
	Dir            string
	Port           int
	Advertise      string // where clients shall come back to: the proxy
	User, Password string
	MaxStore       int64 // bytes that the server stores; 0: three quarters of what is free
	MaxAccount     int64 // that the account stores; 0: as the server
	Name           string
	Cluster        int   // port for the other servers of a cluster; 0: alone
	Routes         []int // ports of all of them
}

// ServeNATS runs a NATS server and does not return, if this process was started to be one. It ends when whoever started it does.
func ServeNATS() {
	text, ok := os.LookupEnv(natsVariable)
	if !ok {
		return
	}
	var o natsOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s, err := natsd.NewServer(o.server())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.ConfigureLogger()
	s.Start()
	if o.MaxAccount > 0 {
		limits := map[string]natsd.JetStreamAccountLimits{"": {MaxMemory: -1, MaxStore: o.MaxAccount, MaxStreams: -1, MaxConsumers: -1}}
		if err := s.GlobalAccount().UpdateJetStreamLimits(limits); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the other end is gone
	s.Shutdown()
	s.WaitForShutdown()
	os.Exit(0)
}

func (o natsOptions) server() *natsd.Options {
	opts := &natsd.Options{
		ServerName: cmp.Or(o.Name, "faults"), Host: "127.0.0.1", Port: o.Port, ClientAdvertise: o.Advertise, JetStream: true, StoreDir: o.Dir,
		Username: o.User, Password: o.Password, NoSigs: true, JetStreamMaxStore: o.MaxStore,
	}
	if o.Cluster == 0 {
		return opts
	}
	opts.Cluster = natsd.ClusterOpts{Name: "faults", Host: "127.0.0.1", Port: o.Cluster}
	for _, port := range o.Routes {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return opts
}

// natsServer is a NATS server in a process of its own.
type natsServer struct {
	natsOptions
	cmd   *exec.Cmd
	stdin io.Closer
	said  bytes.Buffer
}

func newNATS(dir, user, password string) (*natsServer, error) {
	port, err := freePort()
	return &natsServer{natsOptions: natsOptions{Dir: dir, Port: port, User: user, Password: password}}, err
}

// freePort gives a port that nothing holds until somebody listens there.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *natsServer) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// Start starts the server and waits until JetStream answers, unless it is one of a cluster.
func (s *natsServer) Start(ctx context.Context) error {
	o, err := json.Marshal(s.natsOptions)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.said.Reset()
	s.cmd = exec.CommandContext(ctx, self)
	s.cmd.Env = append(os.Environ(), natsVariable+"="+string(o))
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	if s.Cluster > 0 { // it can't answer before the others are there
		return nil
	}
	return s.await(ctx)
}

// await waits until JetStream answers.
func (s *natsServer) await(ctx context.Context) (err error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = s.answers(ctx); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("nats-server does not come up: %w\n%s", err, s.said.Bytes())
		}
	}
}

func (s *natsServer) answers(ctx context.Context) error {
	c, err := nats.Connect(s.addr(), nats.UserInfo(s.User, s.Password), nats.NoReconnect())
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		return err
	}
	_, err = js.AccountInfo(ctx)
	return err
}

// Kill ends the server as kill -9 does.
func (s *natsServer) Kill() { s.end(s.cmd.Process.Kill()) }

// Close lets the server shut down.
func (s *natsServer) Close() error { return s.end(s.stdin.Close()) }

func (s *natsServer) end(err error) error {
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, os.ErrClosed) {
		err = nil
	}
	_ = s.cmd.Wait() // how it ended is of no interest
	return err
}
