package rocksdb

import (
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// opened is a table that a Finder keeps open.
type opened struct {
	file          FileMeta
	ref           *tableRef
	index         *sst.Iter // to find blocks by; nil until the filter has let a key pass
	parts, blocks fetch.Want
	asks          [][]*Ask // of the wave, ascending; by how many newer tables it has taken up for the same ask
}

// wave takes the open asks on by a table each, the first of them at least, and gives how many it took. Of far files it looks into
// older tables as well, before it is known whether they count: until as much is likely to be in vain as comes in the time that another wave
// would take, which begins only when the last of this one has come.
func (f *Finder) wave(asks []Ask, open []int) (taken int, err error) {
	if taken, err = f.acquire(asks, open); err != nil {
		return 0, err
	}
	parts, err := f.fetchParts(asks, open[:taken])
	if err != nil {
		return 0, err
	}
	defer parts.Done()
	if err := parts.Wait(); err != nil {
		return 0, err
	}
	parts.Yield()
	if taken, err = f.choose(asks, open[:taken]); err != nil {
		return 0, err
	}
	blocks, err := f.fetch(func(t *opened) *fetch.Want { return &t.blocks })
	if err != nil {
		return 0, err
	}
	defer blocks.Done()
	err = f.search(blocks)
	if failed := blocks.Wait(); failed != nil {
		err = failed // the search only stopped for it
	}
	return taken, err
}

// tablesAtOnce bounds the tables that a wave opens, with their indexes and filters.
const tablesAtOnce = 64

// acquire opens the next table of each ask, and of far ones those behind it too, since they are likely to be needed. It stops before an
// ask for which too many would be opened.
func (f *Finder) acquire(asks []Ask, open []int) (taken int, err error) {
	var files []FileMeta
	wanted := map[uint64]bool{}
	for _, i := range open {
		next := f.next(&asks[i])
		if len(files) > 0 && len(files)+len(next) > tablesAtOnce {
			break
		}
		for _, m := range next {
			if f.open[m.Number] == nil && !wanted[m.Number] {
				wanted[m.Number] = true
				files = append(files, *m)
			}
		}
		taken++
	}
	refs, err := f.db.tables.acquireAll(f.ctx, files)
	if err != nil {
		return 0, err
	}
	for i, r := range refs {
		f.keep(files[i], r)
	}
	return taken, nil
}

// next gives the tables that the wave may look into for an ask.
func (f *Finder) next(a *Ask) []*FileMeta {
	if f.db.link.Far() {
		return f.files[a.from:a.to]
	}
	return f.files[a.from : a.from+1]
}

// fetchParts brings the partitions of filters and indexes that the wave needs.
func (f *Finder) fetchParts(asks []Ask, open []int) (*fetch.Batch, error) {
	for _, i := range open {
		for _, m := range f.next(&asks[i]) {
			t := f.open[m.Number]
			if err := t.ref.table.Parts(f.ctx, &t.parts.Spans, asks[i].Key); err != nil {
				return nil, err
			}
		}
	}
	return f.fetch(func(t *opened) *fetch.Want { return &t.parts })
}

// fetch brings what is wanted of the open tables.
func (f *Finder) fetch(of func(*opened) *fetch.Want) (*fetch.Batch, error) {
	var wants []*fetch.Want
	for _, t := range f.inOrder() {
		if w := of(t); len(w.Spans) > 0 {
			wants = append(wants, w)
		}
	}
	b, err := f.db.link.Fetch(f.ctx, wants)
	for _, w := range wants {
		w.Spans = w.Spans[:0]
	}
	if err == nil {
		f.db.planned.wanted.Add(b.Spans)
		f.db.planned.ranges.Add(b.Ranges)
	}
	return b, err
}

// choose asks filters and indexes which blocks the wave needs, until these are as many as fit.
func (f *Finder) choose(asks []Ask, open []int) (taken int, err error) {
	var size int64
	var vain float64
	cost := f.db.link.Cost()
	for _, i := range open {
		if size > f.db.link.Memory() {
			break
		}
		a := &asks[i]
		next := f.next(a)
		var all, passed float64
		for _, m := range next {
			all += f.density(m)
		}
		for rank, m := range next {
			if rank > 0 && vain >= waveTurns*float64(cost.Turn()) {
				break
			}
			n, err := f.choose1(a, f.open[m.Number], rank)
			if err != nil {
				return 0, err
			}
			if size += n; n > 0 && rank > 0 {
				vain += float64(n+cost.Request()) * passed / all
			}
			passed += f.density(m)
			a.from++
		}
		taken++
	}
	return taken, nil
}

// waveTurns is how many times one waits for a wave: for its first bytes, and for lanes that have nothing to do.
const waveTurns = 2

// density is how many entries an open table has for each ask that it may answer. Of several tables a key is likely to lie in the densest.
func (f *Finder) density(m *FileMeta) float64 {
	t := f.open[m.Number]
	return float64(t.ref.table.Properties().Entries+1) / float64(max(f.asked[m.Number], 1))
}

// choose1 takes one table up for an ask, and gives the size of the block that has to be fetched for it, as large as it will be.
func (f *Finder) choose1(a *Ask, t *opened, rank int) (size int64, err error) {
	a.Tables++
	a.History.Tombstone = max(a.History.Tombstone, above(t.ref.spans, a.Key))
	if may, err := t.ref.table.MayContain(f.ctx, a.Key, &t.parts.Stage); err != nil || !may {
		return 0, err
	}
	if t.index == nil {
		t.index = iters.Get().(*sst.Iter)
		if err := t.index.Reset(f.ctx, t.ref.table, t.reading()); err != nil {
			return 0, err
		}
	}
	n := len(t.blocks.Spans)
	if t.blocks.Spans, err = t.index.Block(t.blocks.Spans, a.Key); err != nil {
		return 0, err
	}
	for _, s := range t.blocks.Spans[n:] {
		size += s.Len * t.ref.table.Properties().Growth()
	}
	for len(t.asks) <= rank {
		t.asks = append(t.asks, nil)
	}
	t.asks[rank] = append(t.asks[rank], a)
	return size, nil
}

// reading takes all blocks from where they were fetched to.
func (t *opened) reading() sst.Reading { return sst.Reading{Staged: &t.blocks.Stage} }

func (t *opened) close(db *DB) {
	if t.index != nil {
		t.index.Release()
		iters.Put(t.index)
	}
	db.tables.release(t.ref)
}
