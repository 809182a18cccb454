package registry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/statebridge/statebridge/stream"
)

// Letter is a row that a sink could not write: a dead letter. Of each row in each sink the newest is kept.
type Letter struct {
	ID           string          `json:"id"` // of sink, consumer and key; set by Put
	Sink         string          `json:"sink"`
	Consumer     string          `json:"consumer"`
	Reason       string          `json:"reason"`
	Column       string          `json:"column,omitempty"` // "" when no single column is to blame
	Epoch        uint64          `json:"epoch"`
	CheckpointID int64           `json:"checkpoint_id"`
	Partition    int             `json:"partition"`
	Seq          uint64          `json:"seq"`
	Op           string          `json:"op"`
	Key          json.RawMessage `json:"key"`
	Row          json.RawMessage `json:"row,omitempty"` // absent where the message would be longer than the server takes
	Size         int             `json:"size"`          // of the row
	Time         time.Time       `json:"time"`
}

// LetterID is that of the letter of a row.
func LetterID(sink, consumer string, key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q ", sink, consumer)
	h.Write(key)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Letters are the dead letters of a source. They lie in a bucket of their own, as what they hold are rows.
type Letters struct {
	bucket *Registry
	limit  int
}

const letters = "dead"

// OpenLetters opens the dead letters of a source and creates their bucket when absent.
func OpenLetters(ctx context.Context, s *stream.Source) (*Letters, error) {
	kv, err := s.Bucket(ctx, letters)
	if err != nil {
		return nil, fmt.Errorf("dead letters of source %s: %w", s.Name(), err)
	}
	return &Letters{bucket: &Registry{src: s, kv: kv}, limit: s.Limit() - headers}, nil
}

// headers is room for those of a message.
const headers = 1 << 10

// ErrLongLetter says that no message can hold a letter, even without its row.
var ErrLongLetter = errors.New("the key of the row is too long for a dead letter")

func letterKey(l Letter) string { return key(l.ID, l.Consumer, l.Sink) }

// Put keeps a letter, in the place of an older one of the same row; so nothing is there twice that is put twice.
func (s *Letters) Put(ctx context.Context, l Letter) error {
	l.ID = LetterID(l.Sink, l.Consumer, l.Key)
	l.Size = len(l.Row)
	b, err := l.encode()
	if err == nil && len(b) > s.limit {
		l.Row = nil
		b, err = l.encode()
	}
	switch {
	case err != nil:
		return fmt.Errorf("dead letter %s: %w", l.ID, err)
	case len(b) > s.limit:
		return ErrLongLetter
	}
	if _, err := s.bucket.kv.Put(ctx, letterKey(l), b); err != nil {
		return fmt.Errorf("dead letter %s: %w", l.ID, err)
	}
	return nil
}

// encode leaves the row as it is, < and > and all.
func (l *Letter) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(l)
	return b.Bytes(), err
}

// IDs gives the letters of a sink's consumer, without what they hold.
func (s *Letters) IDs(ctx context.Context, sink, consumer string) ([]string, error) {
	lister, err := s.bucket.kv.ListKeysFiltered(ctx, key("*", consumer, sink))
	if err != nil {
		return nil, fmt.Errorf("dead letters of consumer %s: %w", consumer, err)
	}
	var ids []string
	for k := range lister.Keys() {
		id, _, _ := strings.Cut(k, ".")
		ids = append(ids, id)
	}
	return ids, ctx.Err()
}

// Remove forgets all letters of a consumer, and says how many there were.
func (s *Letters) Remove(ctx context.Context, consumer string) (n int, err error) {
	lister, err := s.bucket.kv.ListKeysFiltered(ctx, key("*", consumer)+".*")
	if err != nil {
		return 0, fmt.Errorf("dead letters of consumer %s: %w", consumer, err)
	}
	for k := range lister.Keys() {
		if e := s.bucket.kv.Purge(ctx, k); e != nil && err == nil {
			err = fmt.Errorf("dead letters of consumer %s: %w", consumer, e)
		} else if e == nil {
			n++
		}
	}
	return n, cmp.Or(err, ctx.Err())
}

// place is a letter without its row, which may be large.
type place struct {
	Letter
	Row skipped `json:"row"` // shadows the letter's
}

type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// List gives all letters without their rows, by consumer, sink and time.
func (s *Letters) List(ctx context.Context) ([]Letter, error) {
	places, err := list[place](ctx, s.bucket, "*.*.*")
	all := make([]Letter, len(places))
	for i, p := range places {
		all[i] = p.Letter
	}
	slices.SortFunc(all, func(a, b Letter) int {
		return cmp.Or(strings.Compare(a.Consumer, b.Consumer), strings.Compare(a.Sink, b.Sink), a.Time.Compare(b.Time))
	})
	return all, err
}

// Get gives a letter with its row; false when it is gone.
func (s *Letters) Get(ctx context.Context, l Letter) (Letter, bool, error) {
	l, revision, err := get[Letter](ctx, s.bucket, letterKey(l))
	return l, revision > 0, err
}

// Drop forgets a letter; one that is gone already is no error.
func (s *Letters) Drop(ctx context.Context, l Letter) error {
	if err := s.bucket.kv.Purge(ctx, letterKey(l)); err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return fmt.Errorf("dead letter %s: %w", l.ID, err)
	}
	return nil
}
