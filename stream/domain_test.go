package stream

import (
	"bytes"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// hubAndLeaf runs two servers with a JetStream each, that see each other's subjects.
func hubAndLeaf(t *testing.T) (hub, leaf *server.Server) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().(*net.TCPAddr)
	free.Close()
	hub = serve(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "hub", "hub"
		o.LeafNode.Host, o.LeafNode.Port = "127.0.0.1", addr.Port
	})
	to := &url.URL{Scheme: "nats", Host: addr.String()}
	leaf = serve(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "leaf", "leaf"
		o.LeafNode.ReconnectInterval = 50 * time.Millisecond
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{to}}}
	})
	for deadline := time.Now().Add(10 * time.Second); leaf.NumLeafNodes() == 0 || hub.NumLeafNodes() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("hub and leaf do not find each other")
		}
	}
	return hub, leaf
}

// inDomain connects to a server and gives what is said about it, too.
func inDomain(t *testing.T, s *server.Server, domain string) (*Bus, string) {
	t.Helper()
	var said bytes.Buffer
	b, err := Connect(t.Context(), Options{URL: s.ClientURL(), Domain: domain}, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, said.String()
}

// TestDomain: through a leaf the streams of the hub are used, if that is said, and those of the leaf otherwise; the log names which.
func TestDomain(t *testing.T) {
	hub, leaf := hubAndLeaf(t)
	for _, test := range []struct{ domain, want string }{{"hub", "hub"}, {"leaf", "leaf"}, {"", "leaf"}} {
		t.Run("domain "+test.domain, func(t *testing.T) {
			b, said := inDomain(t, leaf, test.domain)
			if !strings.Contains(said, "domain="+test.want) {
				t.Errorf("said %q, want the domain %s", said, test.want)
			}
			s := source(t, b, "bank")
			e := publish(t, publisher(t, s, "accounts"), fullEpoch(1, 1), row('r', 0, 1))
			if _, err := collect(t, s, e); err != nil {
				t.Fatal(err)
			}
			for _, at := range []*server.Server{hub, leaf} {
				direct, _ := inDomain(t, at, "")
				_, err := direct.js.Stream(t.Context(), s.base())
				if there := err == nil; there != (at.Name() == test.want) {
					t.Errorf("stream at the %s: %v", at.Name(), err)
				}
			}
			if err := b.js.DeleteStream(t.Context(), s.base()); err != nil {
				t.Fatal(err)
			}
			for _, bucket := range []string{"KV_" + s.base() + "_epochs", "OBJ_" + s.base() + "_large"} {
				if err := b.js.DeleteStream(t.Context(), bucket); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if _, err := Connect(t.Context(), Options{URL: leaf.ClientURL(), Domain: "elsewhere"}, quiet()); err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Errorf("an unknown domain: %v", err)
	}
}

// TestTwinStream: a stream of the same name and subjects in the leaf, which is nearer and so answers first, is not taken for that of the hub.
func TestTwinStream(t *testing.T) {
	_, leaf := hubAndLeaf(t)
	b, _ := inDomain(t, leaf, "hub")
	s := source(t, b, "bank")
	near, _ := inDomain(t, leaf, "")
	if _, err := near.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: s.base(), Subjects: []string{s.subjects()}}); err != nil {
		t.Fatal(err)
	}
	p := publisher(t, s, "accounts")
	var err error
	for range 20 { // on a busy machine the hub may be quicker
		if _, err = p.Begin(t.Context(), fullEpoch(1, 1)); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), `domain "leaf"`) || !strings.Contains(err.Error(), `domain "hub"`) {
		t.Fatalf("err = %v, want one that names both domains", err)
	}
	if err := near.js.DeleteStream(t.Context(), s.base()); err != nil {
		t.Fatal(err)
	}
	p = publisher(t, s, "accounts")
	e := publish(t, p, fullEpoch(1, 1), row('r', 0, 1))
	if _, err := collect(t, s, e); err != nil {
		t.Fatal(err)
	}
}
