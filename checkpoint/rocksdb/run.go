package rocksdb

import (
	"bytes"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
	"github.com/statebridge/statebridge/fault"
)

// run reads tables that do not overlap one after the other: a file of level 0, or a whole deeper level. One of them is
// open at a time.
type run struct {
	m     *merger
	files []FileMeta // still to be opened
	file  FileMeta   // the open one
	ref   *tableRef
	it    *sst.Iter // from the pool; nil before the first table

	user    []byte
	trailer uint64
	fresh   bool // the user key is certainly another than that of the run's entry before
}

// runs sorts files into as few runs as their order in the MANIFEST shows, leaving out what lies outside of [lower, upper).
func runs(files []FileMeta, lower, upper []byte) [][]FileMeta {
	var out [][]FileMeta
	for _, f := range files {
		if !f.overlaps(lower, upper) {
			continue
		}
		if n := len(out); n > 0 && f.Level > 0 {
			if last := out[n-1][len(out[n-1])-1]; last.Level == f.Level && ikey.Compare(last.Largest, f.Smallest) < 0 {
				out[n-1] = append(out[n-1], f)
				continue
			}
		}
		out = append(out, []FileMeta{f})
	}
	return out
}

func (f FileMeta) overlaps(lower, upper []byte) bool {
	high, exclusive := f.LargestUser()
	if c := bytes.Compare(high, lower); lower != nil && (c < 0 || c == 0 && exclusive) {
		return false
	}
	return upper == nil || bytes.Compare(f.SmallestUser(), upper) < 0
}

// next moves to the next entry; false at the end or at a fault, which goes to the merger.
func (r *run) next() bool {
	if it := r.it; it != nil && it.Next() {
		r.user, r.trailer, r.fresh = it.User(), it.Trailer(), it.Fresh()
		return true
	}
	r.fresh = false
	return r.nextFile()
}

// nextFile moves to the first entry of the next table that has one.
func (r *run) nextFile() bool {
	for r.finish() && len(r.files) > 0 {
		if !r.openNext() {
			return false
		}
		if r.first() {
			r.user, r.trailer = r.it.User(), r.it.Trailer()
			return r.inside(bytes.Compare(r.user, r.file.SmallestUser()) >= 0)
		}
	}
	return false
}

// first moves to the open table's first entry that is not below the bound.
func (r *run) first() bool {
	if r.m.lower != nil && bytes.Compare(r.file.SmallestUser(), r.m.lower) < 0 {
		return r.it.Seek(r.m.lower)
	}
	return r.it.Next()
}

// openNext opens the next table, whose tombstones count from now on: no key of its range has been passed.
func (r *run) openNext() bool {
	m := r.m
	r.file, r.files = r.files[0], r.files[1:]
	ref, err := m.db.tables.acquire(m.ctx, r.file)
	if err != nil {
		return m.fail(err)
	}
	r.ref, r.user = ref, nil
	if r.it == nil {
		r.it = iters.Get().(*sst.Iter)
	}
	if m.cover != nil {
		m.cover.add(cut(ref.table.Tombstones(), r.file))
	}
	if err := r.it.Reset(m.ctx, ref.table, m.ahead); err != nil {
		return m.fail(err)
	}
	return true
}

// finish ends the open table, if there is one; false at a fault.
func (r *run) finish() bool {
	if r.ref == nil {
		return true
	}
	if err := r.it.Err(); err != nil {
		return r.m.fail(err)
	}
	high, _ := r.file.LargestUser()
	ok := r.user == nil || r.inside(bytes.Compare(r.user, high) <= 0)
	r.m.db.tables.release(r.ref)
	r.ref = nil
	return ok
}

// inside reports a table whose entries are not those that the MANIFEST tells of: another file under its name.
func (r *run) inside(ok bool) bool {
	if !ok {
		r.m.fail(fault.Corrupt(r.ref.table.Name(), -1, "%s has key %x, outside of its bounds in the MANIFEST", r.file.Name(), r.user))
	}
	return ok
}

func (r *run) close() {
	if r.ref != nil {
		r.m.db.tables.release(r.ref)
		r.ref = nil
	}
	if r.it != nil {
		r.it.Release()
		iters.Put(r.it)
		r.it = nil
	}
}

// iters keeps iterators for their buffers.
var iters = sync.Pool{New: func() any { return new(sst.Iter) }}

// less orders runs by the entries they stand at.
func (r *run) less(o *run) bool {
	c := bytes.Compare(r.user, o.user)
	return c < 0 || c == 0 && r.trailer > o.trailer
}
