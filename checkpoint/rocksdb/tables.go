package rocksdb

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// tables shares open tables between readers. Those that nobody reads are kept up to a number, the longest unread closed first.
type tables struct {
	open func(context.Context, FileMeta) (*sst.Table, error)
	keep int
	far  bool

	mu   sync.Mutex
	refs map[uint64]*tableRef
	idle *list.List // of *tableRef, last used at the back
}

type tableRef struct {
	number uint64
	users  int
	idle   *list.Element
	ready  chan struct{} // closed once table or err stands
	table  *sst.Table
	spans  []Tombstone // its range tombstones, cut at the file's bounds, disjoint and ascending
	err    error
}

func newTables(keep int, far bool, open func(context.Context, FileMeta) (*sst.Table, error)) *tables {
	return &tables{open: open, keep: max(keep, 0), far: far, refs: map[uint64]*tableRef{}, idle: list.New()}
}

// acquire opens a table or joins those who read it. Each acquire that succeeds needs a release.
func (t *tables) acquire(ctx context.Context, m FileMeta) (*tableRef, error) {
	for {
		r, opener := t.join(m.Number)
		if opener {
			table, err := t.open(ctx, m)
			var spans []Tombstone
			if err == nil {
				spans = fragment(cut(table.Tombstones(), m))
			}
			t.mu.Lock()
			r.table, r.spans, r.err = table, spans, err
			t.mu.Unlock()
			close(r.ready)
		}
		select {
		case <-r.ready:
		case <-ctx.Done():
			t.release(r)
			return nil, ctx.Err()
		}
		if r.err == nil {
			return r, nil
		}
		err := r.err
		t.release(r)
		if opener || ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		} // else it was the opener who gave up, not the file
	}
}

// openAtOnce bounds the tables that are opened side by side, and those that each holds open.
const openAtOnce = 64

// acquireAll opens tables, far ones side by side. Each that it gives needs a release.
func (t *tables) acquireAll(ctx context.Context, files []FileMeta) ([]*tableRef, error) {
	refs := make([]*tableRef, len(files))
	if !t.far || len(files) == 1 {
		return refs, t.acquireInTurn(ctx, files, refs)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(openAtOnce)
	for i, m := range files {
		g.Go(func() (err error) {
			refs[i], err = t.acquire(gctx, m)
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		t.releaseAll(refs)
	}
	return refs, err
}

func (t *tables) acquireInTurn(ctx context.Context, files []FileMeta, refs []*tableRef) (err error) {
	for i, m := range files {
		if refs[i], err = t.acquire(ctx, m); err != nil {
			t.releaseAll(refs)
			return err
		}
	}
	return nil
}

func (t *tables) releaseAll(refs []*tableRef) {
	for _, r := range refs {
		if r != nil {
			t.release(r)
		}
	}
}

// each shows tables in the order of files, which are opened side by side.
func (t *tables) each(ctx context.Context, files []FileMeta, do func(FileMeta, *tableRef)) error {
	for some := range slices.Chunk(files, openAtOnce) {
		refs, err := t.acquireAll(ctx, some)
		if err != nil {
			return err
		}
		for i, r := range refs {
			do(some[i], r)
			t.release(r)
		}
	}
	return nil
}

// join counts one more user; opener is true for the first, who must open the table.
func (t *tables) join(number uint64) (r *tableRef, opener bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r = t.refs[number]; r == nil {
		r = &tableRef{number: number, users: 1, ready: make(chan struct{})}
		t.refs[number] = r
		return r, true
	}
	r.users++
	if r.idle != nil {
		t.idle.Remove(r.idle)
		r.idle = nil
	}
	return r, false
}

func (t *tables) release(r *tableRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.users--
	if r.err != nil && t.refs[r.number] == r { // a later acquire tries anew
		delete(t.refs, r.number)
	}
	if r.users > 0 || r.err != nil {
		return
	}
	r.idle = t.idle.PushBack(r)
	for t.idle.Len() > t.keep {
		_ = t.drop(t.idle.Front().Value.(*tableRef)) // read only: nothing is lost
	}
}

func (t *tables) drop(r *tableRef) error {
	t.idle.Remove(r.idle)
	r.idle = nil
	delete(t.refs, r.number)
	return r.table.Close()
}

func (t *tables) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for t.idle.Len() > 0 {
		errs = append(errs, t.drop(t.idle.Front().Value.(*tableRef)))
	}
	return errors.Join(errs...)
}
