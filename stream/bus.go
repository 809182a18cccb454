package stream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"
)

// Bus is a connection to JetStream, with the embedded server when there is one.
type Bus struct {
	opts   Options
	log    *slog.Logger
	own    *embedded // nil with a server elsewhere
	domain string    // of the JetStream that answers; empty where there are no domains
	guest  bool      // of the embedded server of another process
	conn   *nats.Conn
	js     jetstream.JetStream
	window *semaphore.Weighted // bytes in flight, of all writers
	closed chan struct{}
}

const (
	ackTimeout = 30 * time.Second // of one publish; an attempt whose acknowledgement is missing is not committed
	apiTimeout = 10 * time.Second // of one request without a deadline of its own

	doorTimeout = 5 * time.Second // of a process that holds a directory and does not let others in yet
)

// Connect connects to the server at o.URL, or starts the embedded one on o.Dir. A directory that another process holds gives ErrInUse, or with o.Join its server.
func Connect(ctx context.Context, o Options, log *slog.Logger) (*Bus, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(doorTimeout); ; {
		b, err := tryConnect(ctx, o, log)
		if !errors.Is(err, errDoorShut) || time.Now().After(deadline) {
			return b, err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func tryConnect(ctx context.Context, o Options, log *slog.Logger) (b *Bus, err error) {
	b = &Bus{opts: o, log: log, window: semaphore.NewWeighted(int64(o.Window)), closed: make(chan struct{})}
	if o.URL == "" {
		b.own, err = startEmbedded(ctx, o, log)
		b.guest = o.Join && errors.Is(err, ErrInUse)
		if err != nil && !b.guest {
			return nil, err
		}
	}
	if err := b.dial(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) dial(ctx context.Context) error {
	opts, err := b.natsOptions()
	if err != nil {
		return err
	}
	where := b.opts.URL
	switch {
	case b.own != nil:
		opts = append(opts, nats.InProcessServer(b.own), nats.ReconnectWait(100*time.Millisecond))
	case b.guest:
		opts = append(opts, nats.SetCustomDialer(knocker{b.opts.Dir}), nats.NoReconnect())
	}
	if b.conn, err = nats.Connect(where, opts...); err != nil {
		return fmt.Errorf("nats %s: %w", redact(where), withoutURL(err))
	}
	js := []jetstream.JetStreamOpt{
		jetstream.WithDefaultTimeout(apiTimeout), jetstream.WithPublishAsyncTimeout(ackTimeout),
		jetstream.WithPublishAsyncMaxPending(1 << 20), // the window bounds it first
	}
	if b.opts.Domain != "" {
		b.js, err = jetstream.NewWithDomain(b.conn, b.opts.Domain, js...)
	} else {
		b.js, err = jetstream.New(b.conn, js...)
	}
	if err != nil {
		return fmt.Errorf("nats %s: %w", redact(where), err)
	}
	account, err := b.js.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("nats %s: JetStream: %w", redact(where), err)
	}
	b.domain = account.Domain
	level := slog.LevelDebug
	if b.domain != "" { // there may be others of the same subjects
		level = slog.LevelInfo
	}
	b.log.Log(ctx, level, "connected to nats", "server", b.conn.ConnectedServerName(), "version", b.conn.ConnectedServerVersion(), "domain", account.Domain)
	return nil
}

func (b *Bus) natsOptions() ([]nats.Option, error) {
	o := b.opts
	name := o.Name
	if name == "" {
		name = "statebridge"
	}
	opts := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), // replaced credentials work without a restart
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("nats connection lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { b.log.Info("nats connection restored", "server", c.ConnectedServerName()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.log.Warn("nats", "error", err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.NKey != "" {
		nk, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("nkey seed %s: %w", o.NKey, err)
		}
		opts = append(opts, nk)
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if o.Cert != "" || o.Key != "" {
		opts = append(opts, nats.ClientCert(o.Cert, o.Key))
	}
	return opts, nil
}

// redact hides what a list of server URLs carries as user and password.
func redact(urls string) string {
	if urls == "" {
		return "embedded"
	}
	all := strings.Split(urls, ",")
	for i, s := range all {
		if u, err := url.Parse(strings.TrimSpace(s)); err == nil {
			if u.User != nil {
				u.User = url.User("xxxxx")
			}
			all[i] = u.String()
		} else {
			all[i] = "(malformed URL)"
		}
	}
	return strings.Join(all, ",")
}

// withoutURL drops the URL, with its password, that a parser's error repeats.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close ends the connection and stops the embedded server. It waits for both.
func (b *Bus) Close() {
	if b.js != nil {
		b.js.CleanupPublisher()
	}
	if b.conn != nil {
		b.conn.Close()
		<-b.closed
	}
	if b.own != nil {
		b.own.stop()
	}
}

// Embedded says whether the server lives in this process.
func (b *Bus) Embedded() bool { return b.own != nil }

// Server identifies the running server; another run of an embedded one is another server.
func (b *Bus) Server() string { return b.conn.ConnectedServerId() }

// ClientURL is where others reach the server; empty for an embedded one that does not listen.
func (b *Bus) ClientURL() string {
	switch {
	case b.own == nil:
		return b.conn.ConnectedUrlRedacted()
	case b.opts.Listen == "":
		return ""
	}
	return b.own.now.Load().ClientURL()
}

// Closed is closed once the connection is gone for good, so that a process never lives on with a dead link.
func (b *Bus) Closed() <-chan struct{} { return b.closed }

// generation is that of the embedded server's store; empty with a server elsewhere.
func (b *Bus) generation() string {
	if b.own == nil {
		return ""
	}
	return b.own.id
}

func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// conflict says whether the server refused a write because the subject's or key's last sequence was not the one expected.
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
