package rocksdb

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// Finder looks keys up in chosen tables. It keeps them open, each with the block it read last, so that keys asked for in
// ascending order read no block twice; tables that such keys have passed are let go. It serves one goroutine, and must be closed.
type Finder struct {
	ctx   context.Context
	db    *DB
	runs  [][]FileMeta // of each at most two tables hold a key
	open  map[uint64]*seeker
	found []FileMeta
	asked int // tables that the last look-up came to
}

// sweepAbove is the number of open tables above which those that were passed are let go: a key has one a level, and some of level 0.
const sweepAbove = 8

// seeker is an open table with a place in it.
type seeker struct {
	file FileMeta
	ref  *tableRef
	it   *sst.Iter
}

// Finder makes one for the given tables of any one family.
func (db *DB) Finder(ctx context.Context, files []FileMeta) *Finder {
	return &Finder{ctx: ctx, db: db, runs: runs(files, nil, nil), open: map[uint64]*seeker{}}
}

// Lookup gathers the entries of a key, newest first, down to the one that decides its value.
func (f *Finder) Lookup(key []byte) (History, error) {
	var h History
	err := f.gather(key, -1, &h)
	h.sort()
	return h, err
}

// gather adds what the tables have to say of a key to h: of those only that have anything newer than sequence number
// floor and that nothing gathered before decides above.
func (f *Finder) gather(key []byte, floor int64, h *History) error {
	if len(f.open) > sweepAbove {
		f.sweep(key)
	}
	f.asked = 0
	for _, m := range f.candidates(key) {
		if int64(m.LargestSeq) <= floor || h.decidedAbove(m.LargestSeq) {
			break
		}
		s, err := f.seeker(m)
		if err != nil {
			return err
		}
		f.asked++
		if err := s.gather(f.ctx, key, h); err != nil {
			return err
		}
	}
	return nil
}

// candidates gives the tables whose range holds the key, the newest first. They are valid until the next call.
func (f *Finder) candidates(key []byte) []FileMeta {
	f.found = f.found[:0]
	for _, files := range f.runs {
		i, _ := slices.BinarySearchFunc(files, key, func(m FileMeta, key []byte) int {
			if m.below(key) {
				return -1
			}
			return 1
		})
		for ; i < len(files) && bytes.Compare(files[i].SmallestUser(), key) <= 0; i++ {
			f.found = append(f.found, files[i])
		}
	}
	slices.SortStableFunc(f.found, func(a, b FileMeta) int { return cmp.Compare(b.LargestSeq, a.LargestSeq) })
	return f.found
}

// below tells whether the whole table lies below the key.
func (f FileMeta) below(key []byte) bool {
	high, exclusive := f.LargestUser()
	c := bytes.Compare(high, key)
	return c < 0 || c == 0 && exclusive
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

// sweep lets go of the tables below the key.
func (f *Finder) sweep(key []byte) {
	for number, s := range f.open {
		if s.file.below(key) {
			f.db.release(s)
			delete(f.open, number)
		}
	}
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
	return &seeker{file: m, ref: ref}, nil
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
