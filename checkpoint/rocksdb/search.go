package rocksdb

import (
	"bytes"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

// perSearcher is how many keys of one table a goroutine is worth having for. Neighbours may share a block.
const perSearcher = 64

// search looks into blocks as they come: side by side, but for each ask the newer tables first. It stops once some will not come.
func (f *Finder) search(blocks *fetch.Batch) error {
	for rank, more := 0, true; more; rank++ {
		more = false
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for _, t := range f.inOrder() {
			if rank < len(t.asks) {
				f.searchTable(&g, blocks, t, t.asks[rank])
				t.asks[rank] = t.asks[rank][:0]
				more = true
			}
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// searchTable looks for ascending keys in one table, in several places at once if they are many.
func (f *Finder) searchTable(g *errgroup.Group, blocks *fetch.Batch, t *opened, asks []*Ask) {
	size := max(perSearcher, (len(asks)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	first := true
	for some := range slices.Chunk(asks, size) {
		own := first
		first = false
		g.Go(func() error {
			if own {
				return t.search(t.index, blocks, some)
			}
			it := iters.Get().(*sst.Iter)
			defer func() {
				it.Release()
				iters.Put(it)
			}()
			if err := it.Reset(f.ctx, t.ref.table, t.reading()); err != nil {
				return err
			}
			return t.search(it, blocks, some)
		})
	}
}

func (t *opened) search(it *sst.Iter, blocks *fetch.Batch, asks []*Ask) error {
	defer it.Forget()
	for _, a := range asks {
		if blocks.Failed() {
			return nil
		}
		if a.History.decidedAbove(t.file.LargestSeq) { // by a newer table of this wave
			continue
		}
		for ok := it.Find(a.Key); ok && bytes.Equal(it.User(), a.Key); ok = it.Next() {
			if !a.History.add(it) {
				break
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}
