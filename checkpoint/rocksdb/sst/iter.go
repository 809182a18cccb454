package sst

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
)

// Iter walks a table's entries in order: newest first where a key has several. It holds one block of each level of the index and one
// data block, whose buffers it keeps from table to table. Key and value are valid until it moves.
type Iter struct {
	t       *Table
	ctx     context.Context
	reading Reading
	limit   int64 // where the data blocks end that are wanted

	top, part indexEntries
	partAt    handle // of part; size 0: none
	twoLevel  bool
	sought    []byte // the user key that the index was moved to, if placed
	placed    bool
	win       window
	stream    *fetch.Stream // from a far file, in place of the window
	buf       []byte        // an uncompressed block
	held      handle        // of the block that data was last given; size 0: none
	block     block         // that block
	data      entries

	trailer uint64
	err     error
}

// Reading says how an Iter reads its table; the zero value reads block by block.
type Reading struct {
	// Ahead is how many bytes are read at once, or are on their way from a far file, while the walk goes on in order.
	Ahead int
	// Until is a user key at or above which nothing is wanted; nil: the table's end. The walk itself goes on.
	Until []byte
	// Staged is what has been fetched of the file. It must stay until the Iter is Reset or Released.
	Staged *fetch.Stage
}

// Reset puts the iterator before the first entry of t.
func (i *Iter) Reset(ctx context.Context, t *Table, r Reading) error {
	i.stop()
	i.t, i.ctx, i.reading, i.err = t, ctx, r, nil
	i.twoLevel = t.props.indexType == indexTwoLevel
	i.win.reset()
	i.held, i.block = handle{}, block{}
	b, err := t.topIndex(ctx)
	i.err = err
	i.top.reset(b, t.props.form())
	i.limit = t.dataEnd()
	if r.Until != nil && r.Ahead > 0 && i.seekBlock(r.Until) && t.check(i.at()) == nil {
		h := i.at()
		i.limit = min(i.limit, int64(h.offset+h.size)+trailerSize)
	}
	i.rewind()
	return i.err
}

// rewind puts the index before its first entry.
func (i *Iter) rewind() {
	i.top.rewind()
	i.part.reset(block{}, i.t.props.form())
	i.partAt, i.placed = handle{}, false
	i.data.reset(block{})
}

// Begin sends for the first bytes of a walk from user on, nil being the first key, if the file is far. It does not wait for them and
// leaves the iterator where it was, before the first entry.
func (i *Iter) Begin(user []byte) {
	if i.t.link == nil || i.reading.Ahead == 0 || i.err != nil {
		return
	}
	if i.seekBlock(user) && i.t.check(i.at()) == nil && !i.staged(i.at()) {
		i.open(int64(i.at().offset))
		i.stream.Start()
	}
	i.rewind()
	i.err = nil // whoever walks there comes to it again
}

// Forget lets go of what was staged, which may be used for something else now. The iterator keeps its place in the index only.
func (i *Iter) Forget() {
	i.held, i.block = handle{}, block{}
	i.data.reset(block{})
}

// stop ends what is under way.
func (i *Iter) stop() {
	if i.stream != nil {
		i.stream.Close()
		i.stream = nil
	}
}

// Release lets go of the table but not of the buffers, unless they are huge. The iterator may be Reset again.
func (i *Iter) Release() {
	i.stop()
	buf, win, key, sought := i.buf, i.win.buf, i.data.key, i.sought
	*i = Iter{}
	i.buf, i.win.buf, i.data.key, i.sought = usual(buf), usual(win), usual(key), usual(sought)
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
	i.placed = false
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

// seekBlock moves the index to the first data block that can hold user. Ascending keys often share one.
func (i *Iter) seekBlock(user []byte) bool {
	i.data.reset(block{})
	if i.placed && bytes.Compare(i.sought, user) <= 0 && !i.leaf().below(i.leaf().key, user) {
		i.sought = append(i.sought[:0], user...)
		return true
	}
	if !i.moveIndex(user) {
		i.placed = false
		return false
	}
	i.sought, i.placed = append(i.sought[:0], user...), true
	return true
}

// leaf is the part of the index that leads to data blocks.
func (i *Iter) leaf() *indexEntries {
	if i.twoLevel {
		return &i.part
	}
	return &i.top
}

func (i *Iter) moveIndex(user []byte) bool {
	if !i.top.seek(user) {
		i.part.reset(block{}, i.t.props.form())
		i.partAt = handle{}
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
	if i.partAt == i.top.at && i.partAt.size > 0 {
		i.part.rewind()
		return true
	}
	i.partAt = handle{}
	b, err := i.t.load(i.ctx, i.top.at, i.reading.Staged)
	if err != nil {
		return !i.failed(fmt.Errorf("index partition: %w", err))
	}
	i.part.reset(b, i.t.props.form())
	i.partAt = i.top.at
	return true
}

// at is the data block that the index stands at.
func (i *Iter) at() handle { return i.leaf().at }

// loadData reads the data block that the index stands at, unless it is still there from an earlier seek.
func (i *Iter) loadData() bool {
	if h := i.at(); i.held != h || h.size == 0 {
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
	stored, err := i.stored(int64(h.offset), int(h.size)+trailerSize)
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

// stored gives n bytes from off, valid until the next call: from where they were fetched to, else in the way that the walk reads.
func (i *Iter) stored(off int64, n int) ([]byte, error) {
	if b := i.t.staged.Bytes(off, n); b != nil {
		return b, nil
	}
	if b := i.reading.Staged.Bytes(off, n); b != nil {
		return b, nil
	}
	if i.t.link == nil || i.reading.Ahead == 0 {
		return i.win.bytes(i.ctx, i.t, off, n, i.reading.Ahead, i.limit)
	}
	if i.stream == nil {
		i.open(off)
	}
	return i.stream.Bytes(off, n)
}

func (i *Iter) open(off int64) {
	i.stream = i.t.link.Stream(i.ctx, i.t.file, off, i.limit, int64(i.reading.Ahead))
}

// staged tells whether a data block has been sent for already.
func (i *Iter) staged(h handle) bool {
	n := int(h.size) + trailerSize
	return i.t.staged.Has(int64(h.offset), n) || i.reading.Staged.Has(int64(h.offset), n)
}
