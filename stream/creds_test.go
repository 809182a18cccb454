package stream

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// issuer is an operator with one account that signs users.
type issuer struct {
	operator, account nkeys.KeyPair
	accounts          server.MemAccResolver
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{operator: operator}
}

// open makes an account that the server will know.
func (i *issuer) open(t *testing.T, limits jwt.JetStreamLimits) (account nkeys.KeyPair, public string) {
	t.Helper()
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, _ = account.PublicKey()
	c := jwt.NewAccountClaims(public)
	c.Limits.JetStreamLimits = limits
	token, err := c.Encode(i.operator)
	if err == nil {
		err = i.accounts.Store(public, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return account, public
}

// serve runs a server that trusts the operator.
func (i *issuer) serve(t *testing.T) *server.Server {
	t.Helper()
	_, system := i.open(t, jwt.JetStreamLimits{})
	i.account, _ = i.open(t, jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit})
	root, _ := i.operator.PublicKey()
	return serve(t, func(o *server.Options) {
		o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{root}, &i.accounts, system
	})
}

// write puts credentials that are good for so long into a file.
func (i *issuer) write(t *testing.T, file string, life time.Duration) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	c := jwt.NewUserClaims(public)
	c.Expires = time.Now().Add(life).Unix()
	token, err := c.Encode(i.account)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCredentialsReplaced: credentials run out, the server ends the connection, and others come into the file: the same bus goes on by itself.
func TestCredentialsReplaced(t *testing.T) {
	i := newIssuer(t)
	s := i.serve(t)
	if _, err := tryDial(t, s, func(*Options) {}); err == nil {
		t.Fatal("connected without credentials")
	}
	file := filepath.Join(t.TempDir(), "bridge.creds")
	i.write(t, file, 3*time.Second)
	b, err := tryDial(t, s, func(o *Options) { o.Creds = file })
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	src := source(t, b, "bank")
	p := publisher(t, src, "accounts")
	publish(t, p, fullEpoch(1, 1), row('r', 0, 1))
	for deadline := time.Now().Add(20 * time.Second); b.conn.IsConnected(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not end the connection")
		}
	}
	time.Sleep(3 * time.Second) // it has tried the old ones again, more than once
	select {
	case <-b.Closed():
		t.Fatal("given up")
	default:
	}
	i.write(t, file, time.Hour)
	for deadline := time.Now().Add(20 * time.Second); !b.conn.IsConnected(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("new credentials are not used")
		}
	}
	e := publish(t, reopen(t, src), deltaEpoch(2, 1), row('c', 0, 2))
	if _, err := collect(t, src, e); err != nil {
		t.Fatal(err)
	}
}
