package rocksdb

import (
	"bytes"
	"context"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
)

// side is what one database has besides the common tables.
type side struct {
	db           *DB
	files        []FileMeta
	lower, upper []byte

	cursor  *InternalCursor
	cover   cover
	more    bool
	history History
	failed  error // of opening
}

// open moves to the first key.
func (s *side) open(ctx context.Context) {
	if s.cover.spans, s.failed = s.db.Tombstones(ctx, s.files); s.failed != nil {
		return
	}
	if s.cursor, s.failed = s.db.InternalCursor(ctx, s.files, s.lower, s.upper); s.failed == nil {
		s.step()
	}
}

func (s *side) step() { s.more = s.cursor.Next() }

func (s *side) err() error {
	if s.failed != nil || s.cursor == nil {
		return s.failed
	}
	return s.cursor.Err()
}

// head gives the key that the side stands at, nil at its end.
func (s *side) head() []byte {
	if !s.more {
		return nil
	}
	return nonNil(s.cursor.Key())
}

// gather takes the entries of a key, newest first, down to the first that hides all others, and passes the rest.
func (s *side) gather(key []byte) {
	h := &s.history
	h.reset()
	h.Tombstone = s.cover.seq(key)
	for ended := false; s.more && bytes.Equal(s.cursor.Key(), key); s.step() {
		if ended = ended || s.cursor.Seq() < h.Tombstone; !ended {
			h.put(s.cursor.Seq(), s.cursor.Kind(), s.cursor.Value())
			ended = s.cursor.Kind() != ikey.Merge
		}
	}
}

func (s *side) close() error {
	if s.cursor == nil {
		return nil
	}
	return s.cursor.Close()
}

// nonNil keeps the empty key apart from no key.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
