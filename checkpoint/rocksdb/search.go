package rocksdb

import (
	"bytes"
	"cmp"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// perSearcher is how many keys of one table a goroutine is worth having for. Neighbours may share a block.
const perSearcher = 16

// search looks into the blocks that have come: side by side, but for each ask the newer tables first.
func (f *Finder) search() error {
	slices.SortStableFunc(f.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.table.file.Number, b.table.file.Number))
	})
	for rest := f.steps; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].rank == rest[0].rank {
			n++
		}
		if err := f.searchRank(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// searchRank looks into one table for each ask.
func (f *Finder) searchRank(steps []step) error {
	most := max(perSearcher, (len(steps)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	var last *opened
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && n < most && steps[n].table == steps[0].table {
			n++
		}
		some, rest := steps[:n], steps[n:]
		again := some[0].table == last // then another goroutine has its iterator
		if last, steps = some[0].table, rest; len(rest) == 0 && !again {
			return errors.Join(f.searchTable(some, last.index), g.Wait())
		}
		g.Go(func() error {
			if !again {
				return f.searchTable(some, some[0].table.index)
			}
			it := iters.Get().(*sst.Iter)
			defer func() {
				it.Release()
				iters.Put(it)
			}()
			if err := it.Reset(f.ctx, some[0].table.ref.table, some[0].table.reading()); err != nil {
				return err
			}
			return f.searchTable(some, it)
		})
	}
	return g.Wait()
}

// searchTable looks for ascending keys in one table.
func (f *Finder) searchTable(steps []step, it *sst.Iter) error {
	defer it.Forget()
	for _, s := range steps {
		h := s.ask.History
		if h.decidedAbove(s.table.file.LargestSeq) { // by a newer table of this wave
			continue
		}
		for ok := it.Find(s.ask.Key); ok && bytes.Equal(it.User(), s.ask.Key); ok = it.Next() {
			if !h.add(it) {
				break
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}
