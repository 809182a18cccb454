package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/selfsigned"
	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/postgres"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// TestDocumentedRole does what docs/operations/security.md says for a role with few rights, on a server that takes it with SCRAM over TLS alone, and mirrors
// as that role with sslmode=verify-full.
func TestDocumentedRole(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/security.md")
	if err != nil {
		t.Fatal(err)
	}
	block := sqlBlock.FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no SQL")
	}
	own := sinktest.StartPostgres(t)
	certificates := selfsigned.New(t)
	own.UseTLS(t, certificates)
	runOn(t, own.URL, "CREATE DATABASE bank")
	runOn(t, strings.Replace(own.URL, "/postgres?", "/bank?", 1), strings.Replace(string(block[1]), "…", "s3cret", 1))
	hba := "host all postgres 127.0.0.1/32 trust\nhostssl bank bridge 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(own.Dir(), "pg_hba.conf"), []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	runOn(t, own.URL, "SELECT pg_reload_conf()")

	address := func(password, rest string) string {
		return fmt.Sprintf("postgres://bridge:%s@127.0.0.1:%d/bank?%s", password, own.Port, rest)
	}
	verified := "sslmode=verify-full&sslrootcert=" + certificates.Cert
	table := sinks.Table{Source: "bank", Consumer: "pre", Columns: []stream.Column{id, note, balance}}
	prepare := func(url string) (*postgres.Sink, error) {
		s, err := postgres.Open(t.Context(), url, postgres.Options{Schema: "mirror"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, s.Prepare(t.Context(), table)
	}
	var permanent *sinks.PermanentError
	if _, err := prepare(address("hunter2", verified)); !errors.As(err, &permanent) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("another password: %v", err)
	}
	if _, err := prepare(address("s3cret", "sslmode=disable")); err == nil {
		t.Error("connected without TLS")
	}
	if _, err := prepare(address("s3cret", "sslmode=verify-full&sslrootcert="+selfsigned.New(t).Cert)); err == nil {
		t.Error("an unknown server was trusted")
	}
	s, err := prepare(address("s3cret", verified))
	if err != nil {
		t.Fatal(err)
	}
	mirror(t, s, table)
}
