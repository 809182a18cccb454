package rocksdb

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// Finder looks keys up in chosen tables, many at a time: which blocks they need is known from filters and indexes, so these
// are fetched together, each once. The newest tables are asked first and the older ones only for what these leave open. It keeps the
// tables open until keys have passed them. It serves one goroutine, and must be closed.
type Finder struct {
	ctx   context.Context
	db    *DB
	runs  [][]FileMeta // of each at most two tables hold a key
	open  map[uint64]*opened
	files []*FileMeta    // of all asks together
	asked map[uint64]int // how many of these may lie in a table
}

// Ask is a key that is looked up.
type Ask struct {
	Key     []byte
	Floor   int64    // entries up to this sequence number are of no interest; -1: all are
	History *History // what is known already, and what is found
	Tables  int      // that were asked

	from, to int // of Finder.files: still to be asked, the newest first
}

// Finder makes one for the given tables of any one family.
func (db *DB) Finder(ctx context.Context, files []FileMeta) *Finder {
	return &Finder{ctx: ctx, db: db, runs: runs(files, nil, nil), open: map[uint64]*opened{}, asked: map[uint64]int{}}
}

// warm opens far tables that are likely to be needed, if they are not many. What is wrong with them comes out when they are.
func (f *Finder) warm(files []FileMeta) {
	if !f.db.link.Far() || len(files) > tablesAtOnce {
		return
	}
	if refs, err := f.db.tables.acquireAll(f.ctx, files); err == nil {
		for i, r := range refs {
			f.keep(files[i], r)
		}
	}
}

func (f *Finder) keep(m FileMeta, r *tableRef) {
	t := &opened{file: m, ref: r, parts: fetch.Want{File: r.table.File()}, blocks: fetch.Want{File: r.table.File()}}
	t.blocks.Stage.Else = &t.parts.Stage
	f.open[m.Number] = t
}

// Lookup gathers the entries of a key, newest first, down to the one that decides its value.
func (f *Finder) Lookup(key []byte) (History, error) {
	var h History
	_, err := f.Gather([]Ask{{Key: key, Floor: -1, History: &h}})
	h.sort()
	return h, err
}

// Gather answers as many asks, whose keys ascend, as the memory allows, the first at least, and gives their number. It adds what the tables
// have to say of a key to its history, in no set order, down to what decides; of those tables only that have anything newer than the floor.
func (f *Finder) Gather(asks []Ask) (n int, err error) {
	f.sweep(asks[0].Key)
	f.files = f.files[:0]
	for i := range asks {
		f.candidates(&asks[i])
	}
	clear(f.asked)
	for _, m := range f.files {
		f.asked[m.Number]++
	}
	for open, first := f.undecided(asks, nil), true; len(open) > 0; first = false {
		done, err := f.wave(asks, open)
		if err != nil {
			return 0, err
		}
		if first && done < len(open) {
			asks = asks[:open[done]]
		}
		open = f.undecided(asks, open)
	}
	return len(asks), nil
}

// candidates finds the tables whose range holds the key.
func (f *Finder) candidates(a *Ask) {
	a.from, a.Tables = len(f.files), 0
	for _, files := range f.runs {
		i, _ := slices.BinarySearchFunc(files, a.Key, func(m FileMeta, key []byte) int {
			if m.below(key) {
				return -1
			}
			return 1
		})
		for ; i < len(files) && bytes.Compare(files[i].SmallestUser(), a.Key) <= 0; i++ {
			if int64(files[i].LargestSeq) > a.Floor {
				f.files = append(f.files, &files[i])
			}
		}
	}
	a.to = len(f.files)
	slices.SortStableFunc(f.files[a.from:], func(x, y *FileMeta) int { return cmp.Compare(y.LargestSeq, x.LargestSeq) })
}

// below tells whether the whole table lies below the key.
func (f FileMeta) below(key []byte) bool {
	high, exclusive := f.LargestUser()
	c := bytes.Compare(high, key)
	return c < 0 || c == 0 && exclusive
}

// undecided lists the asks that a table is left for.
func (f *Finder) undecided(asks []Ask, list []int) []int {
	list = list[:0]
	for i := range asks {
		if f.more(&asks[i]) {
			list = append(list, i)
		}
	}
	return list
}

// more tells whether the next table may have something to say that counts.
func (f *Finder) more(a *Ask) bool {
	return a.from < a.to && !a.History.decidedAbove(f.files[a.from].LargestSeq)
}

// inOrder gives the open tables in the order in which their blocks are sent for and searched.
func (f *Finder) inOrder() []*opened {
	return slices.SortedFunc(maps.Values(f.open), func(a, b *opened) int { return cmp.Compare(a.file.Number, b.file.Number) })
}

// sweep lets go of the tables below the key.
func (f *Finder) sweep(key []byte) {
	for number, t := range f.open {
		if t.file.below(key) {
			t.close(f.db)
			delete(f.open, number)
		}
	}
}

// Close lets go of the tables.
func (f *Finder) Close() error {
	for _, t := range f.open {
		t.close(f.db)
	}
	clear(f.open)
	return nil
}
