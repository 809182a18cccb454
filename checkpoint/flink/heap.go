package flink

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

func (k *KeyGroups) heapEntries(ctx context.Context, s span, stateID int, yield func(Entry, error) bool) error {
	var head [4]byte
	if err := k.file.ReadAt(ctx, head[:], s.off); err != nil {
		return err
	}
	if got := binary.BigEndian.Uint32(head[:]); got != uint32(s.keyGroup) {
		return fault.Corrupt(k.file.Name(), s.off, "key group %d where %d is expected", got, s.keyGroup)
	}
	found, err := k.seek(ctx, s, k.blocksOf(s.keyGroup, position{at: s.off + 4}), stateID, k.readHeapBlock, yield)
	if err == nil && !found { // every key group has every state
		err = &fault.CorruptError{File: k.file.Name(), Offset: s.end, Truncated: s.end == k.file.Size(), Reason: "the key group ends before this state"}
	}
	return err
}

// readHeapBlock is a blockReader.
func (k *KeyGroups) readHeapBlock(ctx context.Context, s span, at position, want int, yield func(Entry, error) bool) (block, error) {
	if at.at+int64(at.skip) >= s.end {
		return block{state: -1}, nil
	}
	var src source = newPlain(k.file, at, s.end)
	var zip *frames
	if k.meta.Compression {
		zip = newFrames(k.file, at.at, s.end, true)
		src = zip
	}
	h := &heapBlock{w: newWindow(src, k.file.Name()), keyGroup: s.keyGroup}
	defer h.w.free()
	id, n, err := h.head(ctx)
	if err != nil {
		return block{}, err
	}
	if id >= len(k.meta.States) {
		return block{}, fault.Corrupt(k.file.Name(), at.at, "state %d of %d", id, len(k.meta.States))
	}
	if id != want {
		yield = nil
		if zip != nil {
			err := zip.skipStream(ctx)
			return block{state: id, next: position{at: zip.base}}, err
		}
	}
	more, err := h.entries(ctx, k.meta.States[id], n, yield)
	if err != nil && id != want {
		err = fmt.Errorf("behind state %q, which has to be stepped over: %w", k.stateName(id), err)
	}
	if err != nil || !more {
		h.w.lend()
		return block{state: id, stopped: true}, err
	}
	next, err := h.end(ctx, zip)
	return block{state: id, next: next}, err
}

// heapBlock reads the entries of one state in the heap backend's form and gives them RocksDB's.
type heapBlock struct {
	w        *window
	keyGroup int
	schema   *state.Schema
	yield    func(Entry, error) bool // nil: entries are stepped over

	namespace, key, item []byte // parts of a record as the window shows them
	null                 bool   // the item is, and has no bytes
	n                    int    // items that follow the key

	composite, value []byte // being built
}

// head reads which state the block is of, and how many entries it has.
func (h *heapBlock) head(ctx context.Context) (id, n int, err error) {
	err = h.w.next(ctx, func(r *javaio.Reader) {
		id, n = int(r.Uint16()), count(r)
	})
	return id, n, err
}

// count reads a number of items that need not take any bytes.
func count(r *javaio.Reader) int {
	n := r.Int32()
	if n < 0 {
		r.Fail("negative count %d", n)
	}
	return int(n)
}

// end gives where the next block starts.
func (h *heapBlock) end(ctx context.Context, zip *frames) (position, error) {
	if zip == nil {
		return h.w.position(), nil
	}
	ended, err := h.w.end(ctx)
	if err == nil && !ended {
		err = fault.Corrupt(h.w.name, zip.base, "bytes left over in the Snappy stream of a state")
	}
	return position{at: zip.base}, err
}

// entries reads n entries and says whether yield wants more.
func (h *heapBlock) entries(ctx context.Context, schema *state.Schema, n int, yield func(Entry, error) bool) (bool, error) {
	h.schema, h.yield = schema, yield
	read, parse := h.readWhole, h.parseWhole
	switch schema.Kind {
	case state.KindTimer:
		parse = h.parseTimer
	case state.KindList:
		read, parse = h.readList, h.parseHead
	case state.KindMap:
		read, parse = h.readMap, h.parseHead
	}
	for range n {
		if err := h.w.next(ctx, parse); err != nil {
			return false, err
		}
		if more, err := read(ctx); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// cut steps over a value and gives its bytes.
func cut(r *javaio.Reader, c state.Codec) []byte {
	b := r.Rest()
	c.Skip(r)
	n := len(b) - r.Len()
	return b[:n:n]
}

func (h *heapBlock) parseKey(r *javaio.Reader) {
	h.namespace = cut(r, h.schema.Namespace)
	h.key = cut(r, h.schema.Key)
}

func (h *heapBlock) parseWhole(r *javaio.Reader) {
	h.parseKey(r)
	h.item = cut(r, h.schema.Value)
}

func (h *heapBlock) parseHead(r *javaio.Reader) {
	h.parseKey(r)
	h.n = count(r)
}

// parseTimer takes the whole element for the key: timestamp (8B), key, namespace. RocksDB has it so.
func (h *heapBlock) parseTimer(r *javaio.Reader) {
	b := r.Rest()
	r.Skip(8)
	h.schema.Key.Skip(r)
	h.schema.Namespace.Skip(r)
	h.key, h.item = b[:len(b)-r.Len()], nil
}

func (h *heapBlock) readWhole(context.Context) (bool, error) {
	if h.yield == nil {
		return true, nil
	}
	h.compose()
	return h.yield(Entry{h.composite, h.item}, nil), nil
}

// compose makes the composite key of what was parsed last; a user key can be appended to it.
func (h *heapBlock) compose() {
	if h.schema.Kind == state.KindTimer {
		h.composite = append(appendKeyGroup(h.composite[:0], h.keyGroup, h.schema.MaxParallelism), h.key...)
		return
	}
	h.composite = h.schema.AppendKey(h.composite[:0], h.keyGroup, h.key, h.namespace, nil)
}

// appendKeyGroup appends the prefix of composite keys.
func appendKeyGroup(dst []byte, keyGroup, maxParallelism int) []byte {
	if maxParallelism > 128 {
		dst = append(dst, byte(keyGroup>>8))
	}
	return append(dst, byte(keyGroup))
}

// readList joins the elements of a list. A list without elements is no row.
func (h *heapBlock) readList(ctx context.Context) (bool, error) {
	h.compose()
	h.value = h.value[:0]
	n := h.n
	for i := range n {
		if err := h.w.next(ctx, h.parseElement); err != nil {
			return false, err
		}
		if h.yield == nil {
			continue
		}
		if i > 0 {
			h.value = append(h.value, ',')
		}
		if h.value = append(h.value, h.item...); len(h.value) > maxRecord {
			return false, fault.Unsupported(h.w.name, h.w.fileOffset(), "a list of more than %d bytes", maxRecord)
		}
	}
	if n == 0 || h.yield == nil {
		return true, nil
	}
	return h.yield(Entry{h.composite, h.value}, nil), nil
}

func (h *heapBlock) parseElement(r *javaio.Reader) { h.item = cut(r, h.schema.Value) }

// readMap gives an entry for each mapping.
func (h *heapBlock) readMap(ctx context.Context) (bool, error) {
	h.compose()
	front := len(h.composite)
	for range h.n {
		if err := h.w.next(ctx, h.parseMapping); err != nil {
			return false, err
		}
		if h.yield == nil {
			continue
		}
		h.composite = append(h.composite[:front], h.key...)
		h.value = append(h.value[:0], 0)
		if h.null {
			h.value[0] = 1
		}
		h.value = append(h.value, h.item...)
		if !h.yield(Entry{h.composite, h.value}, nil) {
			return false, nil
		}
	}
	return true, nil
}

func (h *heapBlock) parseMapping(r *javaio.Reader) {
	h.key = cut(r, h.schema.MapKey)
	if h.null = r.Bool(); h.null {
		h.item = nil
		return
	}
	h.item = cut(r, h.schema.Value)
}
