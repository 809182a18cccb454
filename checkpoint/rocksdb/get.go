package rocksdb

import (
	"cmp"
	"context"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/rocksdb/ikey"
	"github.com/statebridge/statebridge/checkpoint/rocksdb/sst"
)

// Entry is one entry of a key.
type Entry struct {
	Seq   uint64
	Kind  ikey.Kind
	Value []byte
}

// History is what tables have to say of one key, as far as it was asked for.
type History struct {
	Entries   []Entry // newest first
	Tombstone uint64  // sequence number of the newest range tombstone above the key; 0: none

	buf []byte // of values
}

// Get gives the visible value of a key. It looks into tables from the newest on, until one decides; in each, filter and
// index lead to one data block. The value is the caller's.
func (db *DB) Get(ctx context.Context, family string, key []byte) (value []byte, found bool, err error) {
	f, _ := db.Family(family)
	h, err := db.Lookup(ctx, f.Files, key)
	if err != nil {
		return nil, false, err
	}
	value, found = h.Resolve()
	return value, found, nil
}

// GetAll gives the visible values of ascending keys, by their places in the list, to found, which may stop it by an error. Keys without a
// row are passed over. What the keys need is read together. A value is valid during the call.
func (db *DB) GetAll(ctx context.Context, family string, keys [][]byte, found func(i int, value []byte) error) error {
	f, _ := db.Family(family)
	finder := db.Finder(ctx, f.Files)
	defer finder.Close()
	histories := make([]History, len(keys))
	asks := make([]Ask, len(keys))
	for i, key := range keys {
		asks[i] = Ask{Key: key, Floor: -1, History: &histories[i]}
	}
	for done := 0; done < len(asks); {
		n, err := finder.Gather(asks[done:])
		if err != nil {
			return err
		}
		for i := range histories[done : done+n] {
			h := &histories[done+i]
			h.sort()
			if value, ok := h.Resolve(); ok {
				if err := found(done+i, value); err != nil {
					return err
				}
			}
			*h = History{}
		}
		done += n
	}
	return nil
}

// Lookup gathers the entries of a key from the given tables, newest first, down to the one that decides its value.
func (db *DB) Lookup(ctx context.Context, files []FileMeta, key []byte) (History, error) {
	f := db.Finder(ctx, files)
	defer f.Close()
	return f.Lookup(key)
}

// decidedAbove tells whether no entry up to seq can alter what is visible.
func (h *History) decidedAbove(seq uint64) bool { return h.decided() >= int64(seq) }

// decided gives the sequence number of what hides everything older, -1 for nothing.
func (h *History) decided() int64 {
	newest := int64(-1)
	if h.Tombstone > 0 {
		newest = int64(h.Tombstone)
	}
	for _, e := range h.Entries {
		if e.Kind != ikey.Merge {
			newest = max(newest, int64(e.Seq))
		}
	}
	return newest
}

// reset forgets all but the memory.
func (h *History) reset() { h.Entries, h.Tombstone, h.buf = h.Entries[:0], 0, h.buf[:0] }

// Resolve folds a whole history to the visible value. The value may alias that of an entry.
func (h *History) Resolve() (value []byte, found bool) {
	var o operands
	for _, e := range h.Entries {
		if e.Seq < h.Tombstone {
			break
		}
		switch e.Kind {
		case ikey.Value:
			if len(o.ends) == 0 {
				return e.Value, true
			}
			o.add(e.Value)
			return o.fold(), true
		case ikey.Merge:
			o.add(e.Value)
			continue
		}
		break
	}
	if len(o.ends) == 0 {
		return nil, false
	}
	return o.fold(), true
}

// add takes the entry that it stands at; false when what is older in its table is hidden by it.
func (h *History) add(it *sst.Iter) bool {
	kind := ikey.Kind(it.Trailer())
	h.put(it.Trailer()>>8, kind, it.Value())
	return kind == ikey.Merge
}

// put keeps an entry. Values before it stay where they are when the memory grows.
func (h *History) put(seq uint64, kind ikey.Kind, value []byte) {
	n := len(h.buf)
	h.buf = append(h.buf, value...)
	h.Entries = append(h.Entries, Entry{seq, kind, h.buf[n:len(h.buf):len(h.buf)]})
}

func (h *History) sort() {
	slices.SortStableFunc(h.Entries, func(a, b Entry) int {
		return cmp.Compare(ikey.Trailer(b.Seq, b.Kind), ikey.Trailer(a.Seq, a.Kind))
	})
}
