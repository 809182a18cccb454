package sinktest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/statebridge/statebridge/selfsigned"
)

// UseTLS makes the server speak TLS to those who ask for it.
func (p *Postgres) UseTLS(t testing.TB, c selfsigned.Certificate) {
	t.Helper()
	for name, from := range map[string]string{"server.crt": c.Cert, "server.key": c.Key} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(p.Dir(), name)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if p.as != nil {
			if err := os.Chown(to, int(p.as.Uid), int(p.as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.Stop()
	p.args = append(p.args, "-c", "ssl=on")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
