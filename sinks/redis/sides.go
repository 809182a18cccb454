package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/statebridge/statebridge/sinks"
)

// Publish says when readers see the rows of an epoch.
type Publish string

// The choices.
const (
	EachRow Publish = "rows" // each by itself, as it is written; the zero Publish too
	Swap    Publish = "swap" // all at once
)

// everything is what the position says of a hidden side that shares nothing with the visible one.
const everything = "all"

// base is the text that all keys of a consumer begin with.
func (s *Sink) base(t sinks.Table) string {
	text, _, _ := strings.Cut(cmp.Or(s.options.Key, t.Consumer+":"), "{")
	return text
}

// side gives the beginning of the keys that an epoch is written to: the one of two that readers are not sent to.
func side(base, visible string) string {
	if first := base + "a:"; visible != first {
		return first
	}
	return base + "b:"
}

// keptAsNow tells whether rows that readers find at a prefix, "" for none, are kept in the way that is set.
func (s *Sink) keptAsNow(t sinks.Table, prefix string) bool {
	if s.options.Publish != Swap {
		return prefix == ""
	}
	base := s.base(t)
	return prefix == base+"a:" || prefix == base+"b:"
}

// at gives the template for the rows of one side.
func (p *template) at(prefix string) *template {
	moved := *p
	moved.texts = slices.Clone(p.texts)
	moved.texts[0] = prefix
	return &moved
}

func behindKey(t sinks.Table) string { return positionKey(t) + ":behind" }

// swappable checks what Swap asks of a server: that it is one, and that it can copy a key.
func swappable(ctx context.Context, client redis.UniversalClient) error {
	if _, cluster := client.(*redis.ClusterClient); cluster {
		return sinks.Permanent(fmt.Errorf("publish: swap needs a server of its own: a cluster can't turn to other keys in all of its slots at once; use publish: rows"))
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return classify(err)
	}
	_, version, _ := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(version, "\r")
	major, minor, _ := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	if m, _ := strconv.Atoi(major); m < 6 || m == 6 && minor < "2" {
		return sinks.Permanent(fmt.Errorf("publish: swap needs Redis 6.2, which can copy keys; the server is of version %s", version))
	}
	return nil
}

// turns remembers when readers were sent to the other side last, by position key and revision. What another process did is not known.
type turns struct {
	mu   sync.Mutex
	last map[string]turn
}

type turn struct {
	revision uint64
	at       time.Time
}

// note keeps the turn that led to a revision. A commit without one leaves the time of the turn before it, if that is known.
func (t *turns) note(key string, before uint64, turned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[key]
	switch {
	case turned:
		last = turn{at: time.Now()}
	case last.revision != before || last.at.IsZero():
		return
	}
	if t.last == nil {
		t.last = map[string]turn{}
	}
	last.revision = before + 1
	t.last[key] = last
}

// await returns once a turn that led to a revision is so long ago. One that nobody here has seen may have happened just now.
func (t *turns) await(ctx context.Context, key string, revision uint64, grace time.Duration) error {
	t.mu.Lock()
	last := t.last[key]
	t.mu.Unlock()
	if last.at.IsZero() || last.revision != revision {
		last.at = time.Now()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(last.at.Add(grace))):
		return nil
	}
}
