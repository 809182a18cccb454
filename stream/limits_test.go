package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

func TestLossyStreamIsRefused(t *testing.T) {
	b := connect(t, t.TempDir())
	for name, test := range map[string]struct {
		change func(*jetstream.StreamConfig)
		names  []string // in the error; none: usable
	}{
		"ours":             {func(c *jetstream.StreamConfig) {}, nil},
		"max msgs":         {func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, []string{"max_msgs 1000"}},
		"max msgs, refuse": {func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1000, jetstream.DiscardNew }, nil},
		"max bytes":        {func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, []string{"max_bytes 1048576"}},
		"max age":          {func(c *jetstream.StreamConfig) { c.MaxAge, c.Discard = time.Hour, jetstream.DiscardNew }, []string{"max_age 1h0m0s"}},
		"per subject":      {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, []string{"max_msgs_per_subject 5"}},
		"work queue":       {func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, []string{"retention", "WorkQueue"}},
		"interest":         {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, []string{"retention", "Interest"}},
		"memory":           {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, []string{"storage", "Memory"}},
		"no ack":           {func(c *jetstream.StreamConfig) { c.NoAck = true }, []string{"no_ack"}},
		"several":          {func(c *jetstream.StreamConfig) { c.MaxAge, c.MaxMsgs = time.Hour, 7 }, []string{"max_age 1h0m0s", "max_msgs 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := strings.ReplaceAll(name, ",", "")
			s := &Source{bus: b, name: source}
			c := jetstream.StreamConfig{Name: s.base(), Subjects: []string{s.subjects()}}
			test.change(&c)
			if _, err := b.js.CreateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			_, err := b.Source(t.Context(), source)
			if test.names == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantError(t, err, ErrLossy, append(test.names, s.base())...)
		})
	}
}

func TestUnfitStreamIsRefused(t *testing.T) {
	b := connect(t, t.TempDir())
	for name, test := range map[string]struct {
		change func(*jetstream.StreamConfig)
		names  string
	}{
		"subjects":   {func(c *jetstream.StreamConfig) { c.Subjects = []string{"others.>"} }, "lack"},
		"deny purge": {func(c *jetstream.StreamConfig) { c.DenyPurge = true }, "deny_purge"},
		"small":      {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1024 }, "1024"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Source{bus: b, name: name}
			c := jetstream.StreamConfig{Name: s.base(), Subjects: []string{s.subjects()}}
			test.change(&c)
			if _, err := b.js.CreateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Source(t.Context(), name); err == nil || !strings.Contains(err.Error(), test.names) {
				t.Fatalf("err = %v", err)
			}
		})
	}
}

func TestLossyBucketIsRefused(t *testing.T) {
	b := connect(t, t.TempDir())
	s := &Source{bus: b, name: "bank"}
	if _, err := b.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: s.base() + "_epochs", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Source(t.Context(), "bank")
	wantError(t, err, ErrLossy, "KV_statebridge_bank_epochs", "max_age 1h0m0s")
}

// A stream that is full refuses: the attempt fails and says so, what was published stays, and once there is room again the same changes go through.
func TestFullStreamRefuses(t *testing.T) {
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes = 1 }), "bank")
	p := publisher(t, s, "accounts")
	first := publish(t, p, fullEpoch(1, 1), row('r', 0, 1))
	c := s.stream.CachedInfo().Config
	c.MaxMsgs = 20
	if _, err := s.bus.js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	fill := func() (*Writer, error) {
		w := begin(t, p, deltaEpoch(2, 1))
		for n := range 50 {
			if err := w.Append(t.Context(), row('c', 0, n)); err != nil {
				return w, err
			}
		}
		_, err := w.Commit(t.Context())
		return w, err
	}
	w, err := fill()
	if err == nil || !strings.Contains(err.Error(), "maximum messages exceeded") {
		t.Fatalf("err = %v", err)
	}
	w.Abort()
	if n := messages(t, s); n > 10 {
		t.Errorf("%d messages in the stream: the attempt was not taken back", n)
	}
	if _, err := collect(t, s, first); err != nil {
		t.Fatal(err)
	}
	c.MaxMsgs = -1
	if _, err := s.bus.js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := fill(); err != nil {
		t.Fatal(err)
	}
	e, err := next(t, s, "accounts", first.Chain, 1)
	if err != nil || e.Counts.Total() != 50 {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := collect(t, s, e); err != nil {
		t.Fatal(err)
	}
}

// TestFullServer: the server's storage is used up by others. The epoch fails and says why, readers keep what they have, and the same changes go through once
// there is room.
func TestFullServer(t *testing.T) {
	b, err := tryDial(t, serve(t, func(o *server.Options) { o.JetStreamMaxStore = 8 << 20 }), func(o *Options) { o.BatchBytes = 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := source(t, b, "bank")
	p := publisher(t, s, "accounts")
	first := publish(t, p, fullEpoch(1, 1), row('r', 0, 1))
	if _, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "others", Subjects: []string{"others"}}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = b.js.Publish(t.Context(), "others", make([]byte, 512<<10))
	}
	fill := func() (Epoch, error) {
		w, err := p.Begin(t.Context(), deltaEpoch(2, 1))
		if err != nil {
			return Epoch{}, err
		}
		defer w.Abort()
		for n := range 20 {
			if err := w.Append(t.Context(), Change{Op: 'c', Key: row('c', 0, n).Key, After: sized(100 << 10)}); err != nil {
				return Epoch{}, err
			}
		}
		return w.Commit(t.Context())
	}
	if _, err := fill(); err == nil || !strings.Contains(err.Error(), "resource") {
		t.Fatalf("err = %v, want the server's own word that its storage is full", err)
	}
	if _, err := collect(t, s, first); err != nil {
		t.Fatal(err)
	}
	if err := b.js.DeleteStream(t.Context(), "others"); err != nil {
		t.Fatal(err)
	}
	e, err := fill()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t, s, e); err != nil || e.Counts.Total() != 20 {
		t.Fatalf("%d changes, %v", e.Counts.Total(), err)
	}
}
