package redis_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/selfsigned"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

var redisBlock = regexp.MustCompile("(?s)```redis\n(.*?)```")

// TestDocumentedUser: over TLS with a client certificate, as a user with the keys and commands that docs/operations/security.md lists and nothing else.
func TestDocumentedUser(t *testing.T) {
	server := sinktest.StartRedis(t)
	mine, address := secure(t, server)
	admin := dial(t, server.Addr)
	page, err := os.ReadFile("../../docs/operations/security.md")
	if err != nil {
		t.Fatal(err)
	}
	block := redisBlock.FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no ACL")
	}
	var rule []any
	for _, word := range strings.Fields(strings.Replace(string(block[1]), "…", "hunter2", 1)) {
		rule = append(rule, word)
	}
	if err := admin.Do(t.Context(), rule...).Err(); err != nil {
		t.Fatal(err)
	}
	url := "rediss://bridge:hunter2@" + address
	s := open(t, url, redis.Options{TLS: mine})
	defer s.Close()
	table := prepared(t, s, "accounts", id, value)
	for n, full := range []bool{true, false, true} {
		row := put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", n+1)+`"}`)
		if err := try(t.Context(), s, table, epoch(table, uint64(n+1), full), row, put(`{"id":"b"}`, `{"id":"b","value":"x"}`)); err != nil {
			t.Fatalf("epoch %d: %v", n+1, err)
		}
	}
	if err := try(t.Context(), s, table, epoch(table, 4, false), stream.Change{Op: 'd', Key: []byte(`{"id":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Do(t.Context(), "acl", "setuser", "bridge", "+copy").Err(); err != nil { // as the page says
		t.Fatal(err)
	}
	swap := open(t, url, redis.Options{TLS: mine, Publish: redis.Swap})
	defer swap.Close()
	prepared(t, swap, "accounts", id, value)
	for n, full := range []bool{true, false, false, true} {
		if err := try(t.Context(), swap, table, epoch(table, uint64(n+1), full), put(`{"id":"a"}`, `{"id":"a","value":"`+strings.Repeat("x", n+1)+`"}`)); err != nil {
			t.Fatalf("epoch %d with swap: %v", n+1, err)
		}
	}
	if found := keys(t, admin); len(found) != 3 {
		t.Errorf("keys = %q", found)
	}
	var permanent *sinks.PermanentError
	for name, o := range map[string]struct {
		url string
		tls *tls.Config
	}{
		"another password": {strings.Replace(url, "hunter2", "wr0ng", 1), mine},
		"no certificate":   {url, &tls.Config{RootCAs: mine.RootCAs, MinVersion: tls.VersionTLS12}},
		"unknown server":   {url, &tls.Config{Certificates: mine.Certificates, MinVersion: tls.VersionTLS12}},
	} {
		other := open(t, o.url, redis.Options{TLS: o.tls})
		defer other.Close()
		if _, err := other.Position(t.Context(), table); err == nil || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %v", name, err)
		}
	}
	foreign := open(t, url, redis.Options{TLS: mine, Key: "foreign:{id}"})
	defer foreign.Close()
	other := prepared(t, foreign, "other", id, value)
	if err := try(t.Context(), foreign, other, epoch(other, 1, false), put(`{"id":"a"}`, `{"id":"a","value":"x"}`)); !errors.As(err, &permanent) {
		t.Errorf("keys of others: %v", err)
	}
}

// secure opens a TLS port beside the plain one, which asks for certificates.
func secure(t *testing.T, server *sinktest.Redis) (mine *tls.Config, address string) {
	t.Helper()
	c := selfsigned.New(t)
	port := sinktest.FreePort(t)
	set := []any{"config", "set", "tls-cert-file", c.Cert, "tls-key-file", c.Key, "tls-ca-cert-file", c.Cert, "tls-auth-clients", "yes", "tls-port", port}
	if err := dial(t, server.Addr).Do(t.Context(), set...).Err(); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: c.Pool(t), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
