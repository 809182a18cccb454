package sst

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ForEachBlock reads the data blocks in order and undoes their compression, nothing more: no checksum, no entries. It is the
// yardstick of the scan benchmark.
func (t *Table) ForEachBlock(ctx context.Context, ahead int, do func(b []byte)) error {
	var i Iter
	if err := i.Reset(ctx, t, Reading{Ahead: ahead}); err != nil {
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

// Describe tells how a table is written.
func (t *Table) Describe(ctx context.Context) string {
	p := t.props
	var i Iter
	kinds, buckets := map[byte]int{}, false
	if err := i.Reset(ctx, t, Reading{}); err != nil {
		return err.Error()
	}
	for i.nextBlock() {
		h := i.top.at
		if i.twoLevel {
			h = i.part.at
		}
		var b [1]byte
		if err := t.file.ReadAt(ctx, b[:], int64(h.offset+h.size)); err != nil {
			return err.Error()
		}
		kinds[b[0]]++
		stored := make([]byte, h.size+trailerSize)
		if err := t.file.ReadAt(ctx, stored, int64(h.offset)); err != nil {
			return err.Error()
		}
		data, err := t.unpack(ctx, h, stored, nil)
		if err != nil {
			return err.Error()
		}
		buckets = buckets || data[len(data)-1]&0x80 != 0
	}
	if i.err != nil {
		return i.err.Error()
	}
	var s strings.Builder
	fmt.Fprintf(&s, "version %d, checksum %d, compression %v, index %d", t.footer.version, t.footer.checksum, kinds, p.indexType)
	for _, flag := range []struct {
		set  bool
		name string
	}{{buckets, "hash buckets"}, {p.indexDelta, "delta"}, {p.indexUserKeys, "user keys"}, {t.footer.base != 0, "context checksums"}, {len(t.tombstones) > 0, "range tombstones"}, {t.replaceSeq, "global sequence number"}} {
		if flag.set {
			s.WriteString(", " + flag.name)
		}
	}
	for name := range t.meta {
		if !strings.Contains(name, "filter") && name != "rocksdb.compression_dict" {
			delete(t.meta, name)
		}
	}
	fmt.Fprintf(&s, ", %v", slices.Sorted(maps.Keys(t.meta)))
	return s.String()
}
