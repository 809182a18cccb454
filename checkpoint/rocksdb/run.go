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
	m      *merger
	files  []FileMeta // still to be opened
	file   FileMeta   // the open one
	ref    *tableRef
	it     *sst.Iter // from the pool; nil before the first table
	some   bool      // the open table has given an entry
	coming *opening  // of the first of files, where it is far
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

// nextFile moves to the first entry of the next table that has one; false at the end or at a fault, which goes to the merger.
func (r *run) nextFile() bool {
	for r.finish() && len(r.files) > 0 {
		if !r.openNext() {
			return false
		}
		if r.some = r.first(); r.some {
			return r.inside(bytes.Compare(r.it.User(), r.file.SmallestUser()) >= 0)
		}
	}
	return false
}

// first moves to the open table's first entry that is not below the bound.
func (r *run) first() bool {
	if at := r.m.from(r.file); at != nil {
		return r.it.Seek(at)
	}
	return r.it.Next()
}

// openNext opens the next table, whose tombstones count from now on: no key of its range has been passed.
func (r *run) openNext() bool {
	m := r.m
	o := r.coming
	if r.file = r.files[0]; o == nil {
		o = &opening{it: r.it}
		o.open(m, r.file)
	} else if <-o.done; r.it != nil {
		iters.Put(r.it)
	}
	r.files, r.coming = r.files[1:], nil
	r.ref, r.it, r.some = o.ref, o.it, false
	if o.err != nil {
		return m.fail(o.err)
	}
	if m.cover != nil {
		m.cover.add(r.ref.spans)
	}
	r.prepare()
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
	ok := !r.some || r.inside(bytes.Compare(r.it.User(), high) <= 0)
	r.it.Release()
	r.m.db.tables.release(r.ref)
	r.ref = nil
	return ok
}

// inside reports a table whose entries are not those that the MANIFEST tells of: another file under its name.
func (r *run) inside(ok bool) bool {
	if !ok {
		r.m.fail(fault.Corrupt(r.ref.table.Name(), r.it.Offset(), "%s has key %x, outside of its bounds in the MANIFEST", r.file.Name(), r.it.User()))
	}
	return ok
}

func (r *run) close() {
	for _, o := range []*opening{r.coming, {ref: r.ref, it: r.it}} {
		if o == nil {
			continue
		}
		if o.done != nil {
			<-o.done
		}
		o.close(r.m.db)
	}
	r.coming, r.ref, r.it = nil, nil, nil
}

// iters keeps iterators for their buffers.
var iters = sync.Pool{New: func() any { return new(sst.Iter) }}

// less orders runs by the entries they stand at.
func (r *run) less(o *run) bool {
	c := bytes.Compare(r.it.User(), o.it.User())
	return c < 0 || c == 0 && r.it.Trailer() > o.it.Trailer()
}
