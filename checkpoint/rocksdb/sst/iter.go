package sst

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/fault"
)

// Iter walks a table's entries in order: newest first where a key has several. It holds one block of each level of the index and one
// data block, whose buffers it keeps from table to table. Key and value are valid until it moves.
type Iter struct {
	t     *Table
	ctx   context.Context
	ahead int
	limit int64 // where data blocks end

	top, part indexEntries
	twoLevel  bool
	win       window
	buf       []byte // an uncompressed block
	held      handle // of the block that data was last given; size 0: none
	block     block  // that block
	data      entries

	trailer uint64
	err     error
}

// Reset puts the iterator before the first entry of t. It reads up to ahead bytes at once when it goes on in order; 0: block by block.
func (i *Iter) Reset(ctx context.Context, t *Table, ahead int) error {
	i.t, i.ctx, i.ahead, i.err = t, ctx, ahead, nil
	i.twoLevel = t.props.indexType == indexTwoLevel
	i.limit = t.footer.start
	if n := t.props.DataSize; n > 0 && n < uint64(i.limit) {
		i.limit = int64(n)
	}
	i.win.reset()
	i.held, i.block = handle{}, block{}
	i.data.reset(block{})
	i.part.reset(block{}, t.props.form())
	b, err := t.topIndex(ctx)
	i.err = err
	i.top.reset(b, t.props.form())
	return err
}

// Release lets go of the table but not of the buffers, unless they are huge. The iterator may be Reset again.
func (i *Iter) Release() {
	buf, win, key := i.buf, i.win.buf, i.data.key
	*i = Iter{}
	i.buf, i.win.buf, i.data.key = usual(buf), usual(win), usual(key)
}

func usual(buf []byte) []byte {
	if cap(buf) > 1<<20 {
		return nil
	}
	return buf[:0]
}

// User gives the user key.
func (i *Iter) User() []byte { return ikey.User(i.data.key) }

// Trailer gives sequence number and kind as ikey.Trailer packs them.
func (i *Iter) Trailer() uint64 { return i.trailer }

// Value gives the value; it is empty for deletions.
func (i *Iter) Value() []byte { return i.data.value }

// Offset is where the present data block is in the file.
func (i *Iter) Offset() int64 { return i.data.offset }

// Err gives the fault that ended the walk, or nil at its natural end.
func (i *Iter) Err() error { return i.err }

// Fresh tells, after Next, whether the user key is another than that of the entry before.
func (i *Iter) Fresh() bool { return i.data.fresh }

const readable = 1<<ikey.Delete | 1<<ikey.Value | 1<<ikey.Merge | 1<<ikey.SingleDelete

// Next moves to the next entry, from Reset to the first.
func (i *Iter) Next() bool {
	for {
		if trailer, ok := i.data.stepInternal(); ok {
			i.trailer = trailer
			if kind := trailer & 0xff; kind > 31 || readable>>kind&1 == 0 || i.t.replaceSeq {
				return i.special(ikey.Kind(kind))
			}
			return true
		}
		if !i.nextBlock() || !i.loadData() {
			return false
		}
	}
}

// Seek moves to the newest entry of the first key at or above user.
func (i *Iter) Seek(user []byte) bool {
	ok, behind := i.seek(user)
	if behind {
		return i.Next()
	}
	return ok
}

// Find moves to the newest entry of a key; false when there is none. It reads one data block.
func (i *Iter) Find(user []byte) bool {
	ok, behind := i.seek(user)
	if behind && !i.t.props.indexUserKeys { // only between user keys is a separator sure to leave none out
		ok = i.Next()
	}
	return ok && bytes.Equal(i.User(), user)
}

// seek looks into the one data block that may have the first key at or above user; behind, when all of it is below.
func (i *Iter) seek(user []byte) (ok, behind bool) {
	if i.err != nil || !i.seekBlock(user) || !i.loadData() {
		return false, false
	}
	below := func(key []byte) bool {
		return len(key) >= ikey.TrailerSize && bytes.Compare(ikey.User(key), user) < 0
	}
	if !i.data.seek(below) {
		return false, !i.failed(i.data.err)
	}
	_, seq, kind, ok := ikey.Split(i.data.key)
	if !ok {
		return !i.failed(i.data.corrupt("internal key of %d bytes", len(i.data.key))), false
	}
	i.trailer, i.data.fresh = ikey.Trailer(seq, kind), true
	return i.special(kind), false
}

// special handles what an entry seldom is: of an ingested file, or of a kind that needs more or cannot be read.
func (i *Iter) special(kind ikey.Kind) bool {
	if i.t.replaceSeq {
		i.trailer = ikey.Trailer(i.t.globalSeq, kind)
	}
	switch {
	case kind == ikey.ValueWithSeq:
		return i.stripSeq()
	case kind > 31 || readable>>kind&1 == 0:
		return i.foreign(kind)
	}
	return true
}

func (i *Iter) foreign(kind ikey.Kind) bool {
	switch kind {
	case ikey.BlobIndex, ikey.DeleteWithTime, ikey.WideColumns:
		i.err = fault.Unsupported(i.t.name, i.data.offset, "entry of kind %v unsupported", kind)
	default:
		i.err = i.data.corrupt("entry of %v", kind)
	}
	return false
}

// stripSeq makes a plain value of one that carries a preferred sequence number.
func (i *Iter) stripSeq() bool {
	v := i.data.value
	if len(v) < 8 {
		i.err = i.data.corrupt("value of %d bytes without its preferred sequence number", len(v))
		return false
	}
	i.data.value = v[:len(v)-8]
	i.trailer = i.trailer&^0xff | uint64(ikey.Value)
	return true
}

// nextBlock moves the index to the next data block.
func (i *Iter) nextBlock() bool {
	if i.failed(i.data.err) {
		return false
	}
	for !i.twoLevel || !i.part.step() {
		if i.failed(i.part.err) || !i.top.step() {
			i.failed(i.top.err)
			return false
		}
		if !i.twoLevel {
			return true
		}
		if !i.loadPart() {
			return false
		}
	}
	return true
}

// seekBlock moves the index to the first data block that can hold user.
func (i *Iter) seekBlock(user []byte) bool {
	i.data.reset(block{})
	i.part.reset(block{}, i.t.props.form())
	if !i.top.seek(user) {
		i.failed(i.top.err)
		return false
	}
	if !i.twoLevel {
		return true
	}
	if !i.loadPart() {
		return false
	}
	return i.part.seek(user) || !i.failed(i.part.err) && i.nextBlock()
}

// failed keeps the first fault.
func (i *Iter) failed(err error) bool {
	if i.err == nil {
		i.err = err
	}
	return i.err != nil
}

func (i *Iter) loadPart() bool {
	b, err := i.t.load(i.ctx, i.top.at)
	if err != nil {
		return !i.failed(fmt.Errorf("index partition: %w", err))
	}
	i.part.reset(b, i.t.props.form())
	return true
}

// loadData reads the data block that the index stands at, unless it is still there from an earlier seek.
func (i *Iter) loadData() bool {
	h := i.top.at
	if i.twoLevel {
		h = i.part.at
	}
	if i.held != h || h.size == 0 {
		b, err := i.read(h)
		if i.failed(err) {
			return false
		}
		i.held, i.block = h, b
	}
	i.data.follow(i.block)
	return true
}

// read reads a data block into the iterator's own buffers.
func (i *Iter) read(h handle) (block, error) {
	i.held = handle{}
	if err := i.t.check(h); err != nil {
		return block{}, err
	}
	if h.size > math.MaxInt32 {
		return block{}, fault.Corrupt(i.t.name, int64(h.offset), "block of %d bytes", h.size)
	}
	stored, err := i.win.bytes(i.ctx, i.t, int64(h.offset), int(h.size)+trailerSize, i.ahead, i.limit)
	if err != nil {
		return block{}, err
	}
	b, err := i.t.unpack(i.ctx, h, stored, i.buf)
	if err != nil {
		return block{}, err
	}
	if stored[h.size] != noCompression {
		i.buf = b
	}
	return parseBlock(i.t.name, int64(h.offset), b)
}
