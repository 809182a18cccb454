package rocksdb

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// tables shares open tables between readers. Those that nobody reads are kept up to a number, the longest unread closed first.
type tables struct {
	open func(context.Context, FileMeta) (*sst.Table, error)
	keep int

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

func newTables(keep int, open func(context.Context, FileMeta) (*sst.Table, error)) *tables {
	return &tables{open: open, keep: max(keep, 0), refs: map[uint64]*tableRef{}, idle: list.New()}
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
