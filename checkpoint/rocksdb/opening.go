package rocksdb

import "github.com/statebridge/statebridge/checkpoint/rocksdb/sst"

// opening is a table that is opened for a run, maybe in the background.
type opening struct {
	ref  *tableRef
	it   *sst.Iter // from the pool
	err  error
	done chan struct{} // closed once the table is open or failed to be; nil: nobody waits
}

// prepare opens the run's next table in the background and sends for its first bytes, if files are far: then the walk does not
// stop where one table ends and the next begins.
func (r *run) prepare() {
	if len(r.files) == 0 || !r.m.db.link.Far() {
		return
	}
	o := &opening{done: make(chan struct{})}
	r.coming = o
	go func(file FileMeta) {
		defer close(o.done)
		if o.open(r.m, file); o.err == nil {
			o.it.Begin(r.m.from(file))
		}
	}(r.files[0])
}

// open opens the table and puts the iterator before its first entry.
func (o *opening) open(m *merger, file FileMeta) {
	if o.it == nil {
		o.it = iters.Get().(*sst.Iter)
	}
	if o.ref, o.err = m.db.tables.acquire(m.ctx, file); o.err == nil {
		o.err = o.it.Reset(m.ctx, o.ref.table, sst.Reading{Ahead: m.ahead, Until: m.upper})
	}
}

// close lets go of the table; the iterator, which may still be reading it, goes first.
func (o *opening) close(db *DB) {
	if o.it != nil {
		o.it.Release()
		iters.Put(o.it)
	}
	if o.ref != nil {
		db.tables.release(o.ref)
	}
}
