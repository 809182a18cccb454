package sst

import (
	"context"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
)

const (
	// nearTail holds footer, metaindex and properties of a near file.
	nearTail = 8 << 10
	// Of a far file index and filter are wanted by the same request. They take about a hundredth of it. A small file comes whole.
	farTailShare = 64
	minFarTail   = 128 << 10
	maxFarTail   = 1 << 20
	// maxMeta bounds what is fetched at once in front of a tail that turned out too short.
	maxMeta = 16 << 20
)

// tailSize is how much of a file's end is read at once when it is opened.
func (t *Table) tailSize() int64 {
	if t.link == nil {
		return nearTail
	}
	return Tail(t.file.Size())
}

// Tail is how much of the end of a far file is read when it is opened.
func Tail(size int64) int64 { return min(max(size/farTailShare, minFarTail), maxFarTail, size) }

// dataEnd is where the data blocks end, so far as the table says so.
func (t *Table) dataEnd() int64 {
	if n := t.props.DataSize; n > 0 && n < uint64(t.footer.start) {
		return int64(n)
	}
	return t.footer.start
}

// settle lets the end of a near file go. Of a far one, index and filter are taken out of it, and their partitions stay; so does a file
// that came whole.
func (t *Table) settle(ctx context.Context) error {
	tail := t.staged
	if t.link == nil {
		t.staged = nil
		return nil
	}
	if err := t.widen(ctx); err != nil {
		return err
	}
	if _, err := t.topIndex(ctx); err != nil {
		return err
	}
	f, err := t.loadFilter(ctx)
	if err != nil {
		return err
	}
	whole := tail.Bytes(0, int(t.file.Size())) != nil
	if !whole && f.parts == nil && t.props.indexType != indexTwoLevel {
		t.staged = nil
	}
	return nil
}

// widen fetches what of the blocks behind the data the tail lacks, by one request.
func (t *Table) widen(ctx context.Context) error {
	from, end := t.dataEnd(), t.file.Size()
	if n := end - from; t.staged.Bytes(from, int(n)) != nil || n > maxMeta || from == t.footer.start {
		return nil
	}
	b := make([]byte, end-from)
	if err := t.file.ReadAt(ctx, b, from); err != nil {
		return err
	}
	t.staged = fetch.Staged(from, b)
	return nil
}

// Parts adds the partitions of filter and index that a look-up of a user key needs and that are still to be read.
func (t *Table) Parts(ctx context.Context, spans *[]fetch.Span, user []byte) error {
	f, err := t.loadFilter(ctx)
	if err != nil {
		return err
	}
	if f.parts != nil {
		*spans = t.part(*spans, *f.parts, t.filterForm(), user)
	}
	if t.props.indexType != indexTwoLevel {
		return nil
	}
	top, err := t.topIndex(ctx)
	if err == nil {
		*spans = t.part(*spans, top, t.props.form(), user)
	}
	return err
}

// part adds the partition that an index leads to. What is wrong with it comes out when it is read.
func (t *Table) part(spans []fetch.Span, index block, form indexForm, user []byte) []fetch.Span {
	var x indexEntries
	x.reset(index, form)
	if !x.seek(user) || t.check(x.at) != nil || t.staged.Has(int64(x.at.offset), int(x.at.size)+trailerSize) {
		return spans
	}
	return with(spans, x.at)
}

// Block adds the data block that may have a user key, unless it has been read.
func (i *Iter) Block(spans []fetch.Span, user []byte) ([]fetch.Span, error) {
	if !i.seekBlock(user) || i.t.check(i.at()) != nil || i.staged(i.at()) {
		return spans, i.err
	}
	return with(spans, i.at()), nil
}

// with adds a block unless it is among the last.
func with(spans []fetch.Span, h handle) []fetch.Span {
	s := fetch.Span{Off: int64(h.offset), Len: int64(h.size) + trailerSize}
	if slices.Contains(spans[max(len(spans)-2, 0):], s) {
		return spans
	}
	return append(spans, s)
}

// File is the table's file; reading it is counted.
func (t *Table) File() storage.File { return t.file }
