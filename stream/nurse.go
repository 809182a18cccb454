package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats-server/v2/server"
)

// A nurse looks after an embedded server whose disk may get full. NATS gives up a stream for good with the first write that fails, and answers no more writes to it until
// it is started anew, however much room there is by then. So the nurse starts it anew, in this process, as soon as that helps; clients come back by themselves.
type nurse struct {
	server *embedded
	stop   context.CancelFunc
	gone   sync.WaitGroup
	pauses *backoff.ExponentialBackOff // between cures, should one not last
	again  time.Time                   // when the next cure may be

	mu   sync.Mutex
	ails error // nil: the server is well
	told time.Time
}

const (
	nurseEvery = time.Second
	nurseTells = time.Minute // how often it repeats what is wrong
	// roomWanted is how much must fit on the disk before the server is started anew: it writes as it starts.
	roomWanted = 1 << 20
)

func attend(ctx context.Context, e *embedded) *nurse {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	n := &nurse{server: e, stop: stop, pauses: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(nurseEvery), backoff.WithMaxInterval(nurseTells), backoff.WithMaxElapsedTime(0))}
	n.gone.Go(func() {
		for sleep(ctx, nurseEvery) == nil {
			n.look(ctx)
		}
	})
	return n
}

func (n *nurse) leave() {
	n.stop()
	n.gone.Wait()
}

func (n *nurse) look(ctx context.Context) {
	s := n.server.now.Load()
	err := writeFault(s)
	helps := err != nil && n.server.hasRoom() == nil
	if err == nil {
		err, helps = limitFault(s, n.server.options.Dir)
	}
	n.note(ctx, err)
	if err == nil && time.Since(n.again) > nurseTells {
		n.pauses.Reset()
	}
	if !helps || time.Now().Before(n.again) {
		return
	}
	n.again = time.Now().Add(n.pauses.NextBackOff())
	n.server.log.WarnContext(ctx, "there is room again, starting the embedded server anew", "dir", n.server.options.Dir)
	n.server.halt()
	if err := n.server.serve(ctx); err != nil {
		n.note(ctx, err)
		return
	}
	n.note(ctx, nil)
}

// note remembers how the server is and tells when that changes, and from time to time while it is not well.
func (n *nurse) note(ctx context.Context, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.ails
	n.ails = err
	switch {
	case err == nil && was != nil:
		n.server.log.InfoContext(ctx, "the embedded server stores again")
	case err != nil && was == nil:
		n.told = time.Time{}
	}
	if err == nil || time.Since(n.told) < nurseTells {
		return
	}
	n.told = time.Now()
	log := n.server.log
	if free, ok := freeBytes(n.server.options.Dir); ok {
		log = log.With("free_bytes", free)
	}
	log.ErrorContext(ctx, "the embedded server can't store: nothing is published or recorded until there is room in the data directory", "error", err,
		"dir", n.server.options.Dir)
}

// Fault says why the embedded server stores nothing at present; nil when it does, or is elsewhere.
func (b *Bus) Fault() error {
	if b.own == nil {
		return nil
	}
	n := b.own.nurse
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ails
}

// AwaitStore waits while the embedded server can't store.
func (b *Bus) AwaitStore(ctx context.Context) {
	for b.Fault() != nil && sleep(ctx, nurseEvery/4) == nil {
	}
}

// hasRoom tries to write in the server's directory.
func (e *embedded) hasRoom() error {
	name := filepath.Join(e.options.Dir, "room")
	defer func() { _ = os.Remove(name) }()
	return os.WriteFile(name, make([]byte, roomWanted), 0o600)
}

// writeFault gives the write that failed, for which the server has given up a stream or all of JetStream; nil when there was none.
func writeFault(s *server.Server) error {
	var a answer
	s.HandleHealthz(&a, &http.Request{URL: &url.URL{Path: server.HealthzPath, RawQuery: "details=true"}})
	var health server.HealthStatus
	if err := json.Unmarshal(a.Bytes(), &health); err != nil {
		return fmt.Errorf("embedded server: health: %w", err)
	}
	for _, e := range health.Errors { // others may be of a stream that is just being made
		if e.Type == server.HealthzErrorJetStream || strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// answer takes what the server would say to an HTTP request.
type answer struct{ bytes.Buffer }

func (*answer) Header() http.Header { return http.Header{} }
func (*answer) WriteHeader(int)     {}

// limitFault tells of a server that has used up what it may: three quarters of the room there was when it started. Another start helps once there is more.
func limitFault(s *server.Server, dir string) (err error, helps bool) {
	info, err := s.Jsz(nil)
	if err != nil || info.Config.MaxStore <= 0 {
		return nil, false // about to stop
	}
	used, limit := info.Store, uint64(info.Config.MaxStore)
	if used < limit-limit/20 {
		return nil, false
	}
	free, ok := freeBytes(dir)
	helps = ok && (free+used)/4*3 > limit+limit/10
	return fmt.Errorf("%d of the %d bytes are used that there was room for at the start", used, limit), helps
}
