package flink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

// Entry is one row as RocksDB would hold it: the composite key, and the serialized value. Of list states the value is the elements
// with a comma between them, of map states an entry is one mapping, of timers the value is empty.
type Entry struct {
	Key, Value []byte
}

// KeyGroups reads a stream of keyed state, one key group and one state at a time. Its methods may be called from several
// goroutines.
//
//	head at 0       format (4B), compression (1B), key serializer, n (2B), n states
//
//	heap            at each key group's offset: key group (4B), then for each state [as Snappy of its own]
//	                state (2B), n (4B), n × { namespace, key, value } or, of timers, n × element
//
//	canonical       at each key group's offset, 0 = empty: [as Snappy] state (2B), then pairs
//	                n (4B), key, n (4B), value; a key whose first bit is set is a state's last, and after its value comes
//	                the next state (2B) or FFFF
type KeyGroups struct {
	file           storage.File
	handle         *KeyGroupsHandle
	meta           *state.KeyedMeta
	maxParallelism int
	canonical      bool
	starts         []int64 // where key groups start, sorted

	mu     sync.Mutex
	blocks map[int]*blocks // by key group
}

// OpenKeyGroups opens the stream of h and reads its head.
func OpenKeyGroups(ctx context.Context, h *KeyGroupsHandle, open Opener, o state.Options, maxParallelism int) (*KeyGroups, error) {
	f, err := open(ctx, h.Stream)
	if err != nil {
		return nil, err
	}
	k := &KeyGroups{file: fetch.Windowed(f), handle: h, maxParallelism: maxParallelism, canonical: h.Canonical, blocks: map[int]*blocks{}}
	k.starts = slices.Clone(h.Offsets)
	slices.Sort(k.starts)
	err = k.readHead(ctx, o)
	if err == nil && h.Old {
		k.canonical, err = k.looksCanonical(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
}

// looksCanonical tells the two forms of an old handle apart. The heap backend has all key groups, and each starts with its
// own number in four bytes. A canonical one starts with a state's number and a key's length, in two and four bytes, or
// with Snappy's identifier: none looks like a key group above 0, but with 4 GiB of key.
func (k *KeyGroups) looksCanonical(ctx context.Context) (bool, error) {
	if slices.Contains(k.handle.Offsets, 0) {
		return true, nil
	}
	i := len(k.handle.Offsets) - 1
	if i < 0 {
		return false, nil
	}
	var b [4]byte
	err := k.file.ReadAt(ctx, b[:], k.handle.Offsets[i])
	return binary.BigEndian.Uint32(b[:]) != uint32(k.handle.Range.First+i), err
}

// maxHead bounds the head of a stream: serializer snapshots of all its states.
const maxHead = 256 << 20

func (k *KeyGroups) readHead(ctx context.Context, o state.Options) error {
	end := k.file.Size()
	if i, _ := slices.BinarySearch(k.starts, 1); i < len(k.starts) {
		end = min(end, k.starts[i])
	}
	if end > maxHead {
		return fault.Unsupported(k.file.Name(), 0, "a head of %d bytes", end)
	}
	b := make([]byte, end)
	if err := k.file.ReadAt(ctx, b, 0); err != nil {
		return err
	}
	r := javaio.NewReader(k.file.Name(), 0, b)
	k.meta = state.ReadKeyedMeta(r, o)
	r.End()
	if err := r.Err(); err != nil {
		return err
	}
	for _, s := range k.meta.States {
		s.MaxParallelism = k.maxParallelism
	}
	return nil
}

// Meta gives the head: the states and how they are serialized. A state's id is its index there.
func (k *KeyGroups) Meta() *state.KeyedMeta { return k.meta }

// Range gives the key groups of the stream.
func (k *KeyGroups) Range() KeyGroupRange { return k.handle.Range }

// Size gives the bytes of the stream.
func (k *KeyGroups) Size() int64 { return k.file.Size() }

// Close closes the stream.
func (k *KeyGroups) Close() error { return k.file.Close() }

// Entries gives the entries of one state in one key group. Their order is the writer's: no order in what the heap backend
// wrote, canonical savepoints included. The bytes of an entry are valid until the next one. An error is the last pair.
func (k *KeyGroups) Entries(ctx context.Context, stateID, keyGroup int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := k.entries(ctx, stateID, keyGroup, yield)
		if err != nil {
			yield(Entry{}, fmt.Errorf("state %q, key group %d: %w", k.stateName(stateID), keyGroup, err))
		}
	}
}

func (k *KeyGroups) stateName(id int) string {
	if id < 0 || id >= len(k.meta.States) {
		return fmt.Sprintf("number %d", id)
	}
	return k.meta.States[id].Name
}

func (k *KeyGroups) entries(ctx context.Context, stateID, keyGroup int, yield func(Entry, error) bool) error {
	if stateID < 0 || stateID >= len(k.meta.States) || !k.handle.Range.Contains(keyGroup) {
		return fmt.Errorf("not in this stream of %d states and key groups %s", len(k.meta.States), k.handle.Range)
	}
	off, end, err := k.bounds(keyGroup)
	if err != nil || off == end {
		return err
	}
	s := span{keyGroup, off, end}
	if k.canonical {
		return k.canonicalEntries(ctx, s, stateID, yield)
	}
	return k.heapEntries(ctx, s, stateID, yield)
}

// bounds gives the part of the file that holds a key group: up to where the next one starts. Both are 0 for none.
func (k *KeyGroups) bounds(keyGroup int) (off, end int64, err error) {
	off = k.handle.Offsets[keyGroup-k.handle.Range.First]
	if off == 0 && k.canonical {
		return 0, 0, nil
	}
	size := k.file.Size()
	if off <= 0 || off >= size {
		return 0, 0, fault.Corrupt(k.file.Name(), off, "key group %d starts outside of its stream of %d bytes", keyGroup, size)
	}
	if i, _ := slices.BinarySearch(k.starts, off+1); i < len(k.starts) {
		return off, min(k.starts[i], size), nil
	}
	return off, size, nil
}
