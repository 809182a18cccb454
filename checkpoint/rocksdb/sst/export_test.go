package sst

import "context"

// ForEachBlock reads the data blocks in order and undoes their compression, nothing more: no checksum, no entries. It is the
// yardstick of the scan benchmark.
func (t *Table) ForEachBlock(ctx context.Context, ahead int, do func(b []byte)) error {
	var i Iter
	if err := i.Reset(ctx, t, ahead); err != nil {
		return err
	}
	var buf []byte
	for i.nextBlock() {
		h := i.top.at
		stored, err := i.win.bytes(ctx, t, int64(h.offset), int(h.size)+trailerSize, ahead, i.limit)
		if err != nil {
			return err
		}
		b, err := t.codec.block(buf, stored[:h.size], stored[h.size])
		if err != nil {
			return err
		}
		if stored[h.size] != noCompression {
			buf = b
		}
		do(b)
	}
	return i.err
}
