package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/statebridge/statebridge/selfsigned"
)

// serve runs a server of the user's own.
func serve(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	change(o)
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server is not ready")
	}
	return s
}

// dial connects to a server, publishes and reads an epoch there.
func dial(t *testing.T, s *server.Server, change func(*Options)) error {
	t.Helper()
	b, err := tryDial(t, s, change)
	if err != nil {
		return err
	}
	defer b.Close()
	src := source(t, b, "bank")
	e := publish(t, publisher(t, src, "accounts"), fullEpoch(1, 1), row('r', 0, 1))
	_, err = collect(t, src, e)
	return err
}

func tryDial(t *testing.T, s *server.Server, change func(*Options)) (*Bus, error) {
	t.Helper()
	o := Options{URL: s.ClientURL()}
	change(&o)
	return Connect(t.Context(), o, quiet())
}

func TestUserAndPassword(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.Username, o.Password = "bridge", "s3cret" })
	if err := dial(t, s, func(o *Options) { o.User, o.Password = "bridge", "s3cret" }); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, s, func(o *Options) { o.URL = strings.Replace(o.URL, "nats://", "nats://bridge:s3cret@", 1) }); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.User, o.Password = "bridge", "wr0ng" },
		func(o *Options) { o.URL = strings.Replace(o.URL, "nats://", "nats://bridge:wr0ng@", 1) },
		func(o *Options) { o.URL = "nats://bridge:wr0ng@127.0.0.1:port" },
	} {
		b, err := tryDial(t, s, change)
		if err == nil {
			b.Close()
			t.Fatal("connected")
		}
		if strings.Contains(err.Error(), "wr0ng") {
			t.Fatalf("the password is shown: %v", err)
		}
	}
}

func TestNKey(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	file := filepath.Join(t.TempDir(), "user.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} })
	if err := dial(t, s, func(o *Options) { o.NKey = file }); err != nil {
		t.Fatal(err)
	}
	if _, err := tryDial(t, s, func(o *Options) {}); err == nil {
		t.Fatal("connected without a key")
	}
}

func TestMutualTLS(t *testing.T) {
	c := selfsigned.New(t)
	cert, key := c.Cert, c.Key
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(o *server.Options) {
		o.TLS, o.TLSVerify = true, true
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: c.Pool(t), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	})
	if err := dial(t, s, func(o *Options) { o.CA, o.Cert, o.Key = cert, cert, key }); err != nil {
		t.Fatal(err)
	}
	if _, err := tryDial(t, s, func(o *Options) { o.Cert, o.Key = cert, key }); err == nil {
		t.Fatal("an unknown server was trusted")
	}
	if _, err := tryDial(t, s, func(o *Options) { o.CA = cert }); err == nil {
		t.Fatal("connected without a certificate")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"needs a data directory": {},
		"prefix":                 {Dir: "x", Prefix: "a.b"},
		"loopback":               {Dir: "x", Listen: "0.0.0.0:4222"},
		"listen address":         {Dir: "x", Listen: "4222"},
	} {
		if _, err := Connect(t.Context(), o, quiet()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %q", err, want)
		}
	}
}

func TestServerWithoutJetStream(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.JetStream = false })
	if _, err := tryDial(t, s, func(*Options) {}); err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Fatalf("err = %v", err)
	}
}

// The server goes away in the middle of an epoch and comes back: that attempt fails or succeeds as a whole, and the next one goes through.
func TestServerRestartsDuringAnEpoch(t *testing.T) {
	dir, port := t.TempDir(), 0
	run := func() *server.Server {
		return serve(t, func(o *server.Options) {
			o.StoreDir = dir
			if port != 0 {
				o.Port = port
			}
		})
	}
	srv := run()
	port = srv.Addr().(*net.TCPAddr).Port
	b, err := tryDial(t, srv, func(o *Options) { o.BatchBytes = 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := source(t, b, "bank")
	p := publisher(t, s, "accounts")
	w := begin(t, p, fullEpoch(1, 1))
	for n := range 100 {
		appendAll(t, w, row('r', 0, n))
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	run()
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, failed := w.Commit(short)
	t.Log("commit:", failed)
	w.Abort()

	p = reopen(t, s)
	last, ok := p.Last()
	if !ok {
		last = publish(t, p, fullEpoch(1, 1), row('r', 0, 1))
	}
	if _, err := collect(t, s, last); err != nil {
		t.Fatal(err)
	}
}

// reopen opens the publisher as soon as the server is there again.
func reopen(t *testing.T, s *Source) *Publisher {
	t.Helper()
	for range 50 {
		p, err := s.Publisher(t.Context(), "accounts")
		if err == nil {
			return p
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the server does not come back")
	return nil
}

func TestNextWakesUp(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	first := publish(t, p, fullEpoch(1, 1))
	got := make(chan Epoch, 1)
	go func() {
		e, err := s.Next(t.Context(), "accounts", first.Chain, 1)
		if err != nil {
			t.Error(err)
		}
		got <- e
	}()
	time.Sleep(1200 * time.Millisecond) // by now it looks once in a second
	begun := time.Now()
	publish(t, p, deltaEpoch(2, 1))
	if e := <-got; e.Number != 2 {
		t.Fatalf("%+v", e)
	}
	if took := time.Since(begun); took > 500*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

func TestNextEnds(t *testing.T) {
	s := newSource(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := s.Next(ctx, "accounts", "", 0); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, s.bus.Close)
	if _, err := s.Next(t.Context(), "accounts", "", 0); err == nil {
		t.Fatal("waits on a connection that is gone")
	}
}

func TestReadingIsCancelled(t *testing.T) {
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes = 1 }), "bank")
	w := begin(t, publisher(t, s, "accounts"), fullEpoch(1, 1))
	for n := range 2000 {
		appendAll(t, w, row('r', 0, n))
	}
	e := commit(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	batches := 0
	for _, err := range s.Changes(ctx, e) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			break
		}
		if batches++; batches == 10 {
			cancel()
		}
	}
	if batches >= 2000 {
		t.Fatal("read to the end")
	}
	for range s.Changes(t.Context(), e) { // a reader that has enough
		break
	}
	if s.isBroken(e) {
		t.Fatal("taken for broken")
	}
}

func TestAbandonedWriter(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	w := begin(t, p, fullEpoch(1, 1))
	w.Abort()
	w.Abort()
	_, err := w.Commit(t.Context())
	wantError(t, err, ErrClosed)
	wantError(t, w.Append(t.Context(), row('r', 0, 1)), ErrClosed)
	for _, bad := range []Change{
		{Op: 'r', Key: []byte(`{}`)}, {Op: 'x', Key: []byte(`{}`), After: []byte(`{}`)}, {Op: 'd', Key: []byte(`{}`), After: []byte(`{}`)},
		{Op: 'c', Key: []byte(`1`), After: []byte(`{}`)}, {Op: 'c', Key: []byte("{\n}"), After: []byte(`{}`)}, {Op: 'c', After: []byte(`{}`)},
		{Op: 'c', Key: []byte(`{}`), After: []byte(`{}`), Partition: 1}, {Op: 'c', Key: []byte(`{}`), After: []byte(`{}`), Partition: -1},
	} {
		w := begin(t, p, fullEpoch(1, 1))
		if err := w.Append(t.Context(), bad); err == nil {
			t.Fatalf("taken: %s", show(bad))
		}
		w.Abort()
	}
	w = begin(t, p, fullEpoch(1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestDeltaNeedsItsBase(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	if _, err := p.Begin(t.Context(), deltaEpoch(1, 1)); err == nil {
		t.Fatal("a first epoch that is a delta")
	}
	publish(t, p, fullEpoch(1, 1))
	e := deltaEpoch(3, 1)
	other := snapshot(2)
	e.Base = &other
	if _, err := p.Begin(t.Context(), e); err == nil || !strings.Contains(err.Error(), "chk-2") {
		t.Fatalf("err = %v", err)
	}
}

// A sink may take longer for a batch than the server remembers who reads.
func TestSlowReader(t *testing.T) {
	idle = time.Second
	defer func() { idle = 5 * time.Minute }()
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes = 1 }), "bank")
	w := begin(t, publisher(t, s, "accounts"), fullEpoch(1, 1))
	for n := range 200 {
		appendAll(t, w, row('r', 0, n))
	}
	e := commit(t, w)
	got := 0
	for batch, err := range s.Changes(t.Context(), e) {
		if err != nil {
			t.Fatal(err)
		}
		if got += len(batch); got == 3 {
			time.Sleep(3 * time.Second)
		}
	}
	if got != 200 {
		t.Fatalf("%d changes", got)
	}
}

// TestReaderFarBehind: 30 000 messages wait for a reader that stops now and then and has room for few of them; none is missing.
func TestReaderFarBehind(t *testing.T) {
	const n = 30_000
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes, o.ReadAhead = 1, 64<<10 }), "bank")
	w := begin(t, publisher(t, s, "accounts"), fullEpoch(1, 1))
	for i := range n {
		appendAll(t, w, row('r', 0, i))
	}
	e := commit(t, w)
	got := uint64(0)
	for batch, err := range s.Changes(t.Context(), e) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range batch {
			if got++; c.Seq != got {
				t.Fatalf("change %d comes as the %dth", c.Seq, got)
			}
		}
		if got%5000 == 0 {
			time.Sleep(200 * time.Millisecond)
		}
	}
	if got != n {
		t.Fatalf("%d changes", got)
	}
}
