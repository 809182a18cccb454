package sst

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
)

// Stats counts what reading cost. Tables that share one add up in it.
type Stats struct {
	Reads     atomic.Int64 // ranges asked of storage
	ReadBytes atomic.Int64
	Blocks    atomic.Int64 // blocks verified and uncompressed
	Rereads   atomic.Int64 // blocks read once more because their checksum did not match
}

// counted is a file whose reads are.
type counted struct {
	storage.File
	stats *Stats
}

func (c counted) ReadAt(ctx context.Context, p []byte, off int64) error {
	c.stats.Reads.Add(1)
	c.stats.ReadBytes.Add(int64(len(p)))
	return c.File.ReadAt(ctx, p, off)
}

// window reads a file ahead: as long as blocks are asked for in order it takes twice as much each time, up to max.
type window struct {
	buf  []byte
	off  int64 // of buf in the file
	size int   // to be read next
}

const firstWindow = 16 << 10

// reset forgets what was read; the buffer stays.
func (w *window) reset() { w.buf, w.off, w.size = w.buf[:0], 0, 0 }

// bytes gives n bytes from off. They are valid until the next call. Nothing is read from limit on.
func (w *window) bytes(ctx context.Context, t *Table, off int64, n, ahead int, limit int64) ([]byte, error) {
	if at := off - w.off; at >= 0 && at+int64(n) <= int64(len(w.buf)) {
		return w.buf[at : at+int64(n)], nil
	}
	if len(w.buf) > 0 && off >= w.off && off <= w.off+int64(len(w.buf)) {
		w.size = min(max(2*w.size, firstWindow), ahead)
	} else {
		w.size = min(n, ahead) // the first of a run: it may stay alone
	}
	size := max(n, int(min(int64(w.size), limit-off)))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.off = w.buf[:size], off
	if err := t.file.ReadAt(ctx, w.buf, off); err != nil {
		w.reset()
		return nil, err
	}
	return w.buf[:n], nil
}

// check tells whether a handle lies inside the file.
func (t *Table) check(h handle) error {
	end := uint64(t.footer.start)
	if h.size > end || h.offset > end-h.size || end-h.size-h.offset < trailerSize {
		return fault.Corrupt(t.name, t.footer.start, "block of %d bytes at %d reaches beyond the file's blocks", h.size, h.offset)
	}
	return nil
}

// verify compares the checksum at the end of stored, a block with its trailer.
func (t *Table) verify(stored []byte, off uint64) bool {
	n := len(stored) - 4
	return t.footer.checksum == noChecksum ||
		t.footer.checksum.sum(stored[:n])+t.footer.context(off) == binary.LittleEndian.Uint32(stored[n:])
}

// reread fetches a block whose checksum did not match once more: what came from the disk or the net may have been damaged on the way.
func (t *Table) reread(ctx context.Context, h handle) ([]byte, error) {
	t.stats.Rereads.Add(1)
	stored := make([]byte, h.size+trailerSize)
	if err := t.file.ReadAt(ctx, stored, int64(h.offset)); err != nil {
		return nil, err
	}
	if !t.verify(stored, h.offset) {
		return nil, fault.Corrupt(t.name, int64(h.offset), "checksum mismatch in block of %d bytes", h.size)
	}
	return stored, nil
}

// unpack verifies a stored block and undoes its compression into buf. The result aliases stored or buf.
func (t *Table) unpack(ctx context.Context, h handle, stored, buf []byte) ([]byte, error) {
	if !t.verify(stored, h.offset) {
		var err error
		if stored, err = t.reread(ctx, h); err != nil {
			return nil, err
		}
	}
	t.stats.Blocks.Add(1)
	n := len(stored) - trailerSize
	b, err := t.codec.block(buf, stored[:n], stored[n])
	if err != nil {
		return nil, t.codecFault(err, h, stored[n])
	}
	return b, nil
}

func (t *Table) codecFault(err error, h handle, compression byte) error {
	var unknown codecError
	if errors.As(err, &unknown) {
		return fault.Unsupported(t.name, int64(h.offset), "%v", err)
	}
	return fault.Corrupt(t.name, int64(h.offset), "block of compression type %d: %v", compression, err)
}

// load reads a single block into memory of its own.
func (t *Table) load(ctx context.Context, h handle, staged *fetch.Stage) (block, error) {
	b, err := t.loadRaw(ctx, h, staged)
	if err != nil {
		return block{}, err
	}
	return parseBlock(t.name, int64(h.offset), b)
}

// loadRaw reads a block that need not have entries.
func (t *Table) loadRaw(ctx context.Context, h handle, staged *fetch.Stage) ([]byte, error) {
	if err := t.check(h); err != nil {
		return nil, err
	}
	stored := make([]byte, h.size+trailerSize)
	if err := t.readAt(ctx, stored, int64(h.offset), staged); err != nil {
		return nil, err
	}
	return t.unpack(ctx, h, stored, nil)
}

// readAt takes what has been fetched already from where it lies.
func (t *Table) readAt(ctx context.Context, p []byte, off int64, staged *fetch.Stage) error {
	for _, s := range []*fetch.Stage{t.staged, staged} {
		if b := s.Bytes(off, len(p)); b != nil {
			copy(p, b)
			return nil
		}
	}
	return t.file.ReadAt(ctx, p, off)
}
