package feed

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// said remembers what was told of a source. What is wrong with a whole snapshot, or with the storage, concerns every consumer, and is told by the first that meets it.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

const (
	snapshotSaid = time.Hour // how long nothing is told again of a snapshot
	storageSaid  = time.Minute
)

// first says whether nobody has told this for a while.
func (s *said) first(what string, again time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[string]time.Time{}
	}
	for old, at := range s.at {
		if time.Since(at) > snapshotSaid {
			delete(s.at, old)
		}
	}
	if at, ok := s.at[what]; ok && time.Since(at) < again {
		return false
	}
	s.at[what] = time.Now()
	return true
}

// once tells something once; the same again, from whatever consumer, is for debugging. about is what it is of: where it is empty, the error says that.
func (f *Feed) once(ctx context.Context, level slog.Level, text, about string, again time.Duration, err error, more ...any) {
	if about == "" {
		about = root(err).Error()
	}
	if !f.watch.said.first(text+"\x00"+about, again) {
		level = slog.LevelDebug
	}
	f.log.Log(ctx, level, text, append(more, "error", err)...)
}

// root is an error without the name of the consumer that met it.
func root(err error) error {
	if one := new(memberError); errors.As(err, &one) {
		return one.err
	}
	return err
}
