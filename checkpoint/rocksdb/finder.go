package rocksdb

import (
	"bytes"
	"context"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// Finder looks keys up in chosen tables. It keeps them open, each with the block it read last, so that keys asked for in
// ascending order read no block twice. It serves one goroutine, and must be closed.
type Finder struct {
	ctx   context.Context
	db    *DB
	files []FileMeta
	open  map[uint64]*seeker
}

// seeker is an open table with a place in it.
type seeker struct {
	ref *tableRef
	it  *sst.Iter
}

// Finder makes one for the given tables of any one family.
func (db *DB) Finder(ctx context.Context, files []FileMeta) *Finder {
	return &Finder{ctx: ctx, db: db, files: slices.Clone(files), open: map[uint64]*seeker{}}
}

// Lookup gathers the entries of a key, newest first, down to the one that decides its value.
func (f *Finder) Lookup(key []byte) (History, error) {
	var h History
	for _, m := range candidates(f.files, key) {
		if h.decidedAbove(m.LargestSeq) {
			break
		}
		s, err := f.seeker(m)
		if err != nil {
			return History{}, err
		}
		if err := s.gather(f.ctx, key, &h); err != nil {
			return History{}, err
		}
	}
	h.sort()
	return h, nil
}

func (f *Finder) seeker(m FileMeta) (*seeker, error) {
	if s := f.open[m.Number]; s != nil {
		return s, nil
	}
	s, err := f.db.seeker(f.ctx, m)
	if err == nil {
		f.open[m.Number] = s
	}
	return s, err
}

// Close lets go of the tables.
func (f *Finder) Close() error {
	for number, s := range f.open {
		f.db.release(s)
		delete(f.open, number)
	}
	return nil
}

func (db *DB) seeker(ctx context.Context, m FileMeta) (*seeker, error) {
	ref, err := db.tables.acquire(ctx, m)
	if err != nil {
		return nil, err
	}
	return &seeker{ref: ref}, nil
}

func (db *DB) release(s *seeker) {
	db.tables.release(s.ref)
	if s.it != nil {
		s.it.Release()
		iters.Put(s.it)
	}
}

// gather adds what the table says of the key. The index is not read before the filter lets a key pass.
func (s *seeker) gather(ctx context.Context, key []byte, h *History) error {
	h.Tombstone = max(h.Tombstone, above(s.ref.spans, key))
	if may, err := s.ref.table.MayContain(ctx, key); err != nil || !may {
		return err
	}
	if s.it == nil || s.it.Err() != nil {
		if s.it == nil {
			s.it = iters.Get().(*sst.Iter)
		}
		if err := s.it.Reset(ctx, s.ref.table, 0); err != nil {
			return err
		}
	}
	for ok := s.it.Find(key); ok && bytes.Equal(s.it.User(), key); ok = s.it.Next() {
		if !h.add(s.it) {
			break
		}
	}
	return s.it.Err()
}
