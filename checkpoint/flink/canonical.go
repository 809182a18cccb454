package flink

import (
	"context"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

const (
	endOfKeyGroup = 0xFFFF
	lastOfState   = 0x80 // in the first byte of a key
)

func (k *KeyGroups) canonicalEntries(ctx context.Context, s span, stateID int, yield func(Entry, error) bool) error {
	_, err := k.seek(ctx, s, k.blocksOf(s.keyGroup, position{at: s.off}), stateID, k.readCanonicalBlock, yield)
	return err
}

// readCanonicalBlock is a blockReader.
func (k *KeyGroups) readCanonicalBlock(ctx context.Context, s span, at position, want int, yield func(Entry, error) bool) (block, error) {
	w, err := k.canonicalWindow(ctx, s, at)
	defer w.free()
	if err != nil {
		return block{}, err
	}
	c := canonicalBlock{w: w, keyGroup: appendKeyGroup(nil, s.keyGroup, k.maxParallelism)}
	id, err := c.head(ctx)
	if err != nil {
		return block{}, err
	}
	if id == endOfKeyGroup {
		ended, err := w.end(ctx)
		if err == nil && !ended {
			err = fault.Corrupt(w.name, w.fileOffset(), "bytes left over behind key group %d", s.keyGroup)
		}
		return block{state: -1}, err
	}
	if id >= len(k.meta.States) {
		return block{}, fault.Corrupt(w.name, at.at, "state %d of %d", id, len(k.meta.States))
	}
	if id != want {
		yield = nil
	}
	if more, err := c.entries(ctx, yield); err != nil || !more {
		w.lend()
		return block{state: id, stopped: true}, err
	}
	return block{state: id, next: w.position()}, nil
}

func (k *KeyGroups) canonicalWindow(ctx context.Context, s span, at position) (*window, error) {
	if !k.meta.Compression {
		return newWindow(newPlain(k.file, at, s.end), k.file.Name()), nil
	}
	w := newWindow(newFrames(k.file, at.at, s.end, false), k.file.Name())
	return w, w.skip(ctx, at.skip)
}

// canonicalBlock reads the pairs of one state.
type canonicalBlock struct {
	w        *window
	keyGroup []byte // the prefix of every key
	entry    Entry
	last     bool
}

func (c *canonicalBlock) head(ctx context.Context) (id int, err error) {
	err = c.w.next(ctx, func(r *javaio.Reader) { id = int(r.Uint16()) })
	return id, err
}

func (c *canonicalBlock) entries(ctx context.Context, yield func(Entry, error) bool) (bool, error) {
	parse := c.parse
	for c.last = false; !c.last; {
		if err := c.w.next(ctx, parse); err != nil {
			return false, err
		}
		if yield != nil && !yield(c.entry, nil) {
			return false, nil
		}
	}
	return true, nil
}

// parse reads a pair and takes the mark off its key. It does so in the window's own bytes, which are read once only.
func (c *canonicalBlock) parse(r *javaio.Reader) {
	key := r.Take(r.Count(1))
	value := r.Take(r.Count(1))
	if r.Err() != nil {
		return
	}
	if len(key) < len(c.keyGroup) {
		r.Fail("key of %d bytes", len(key))
		return
	}
	c.last = key[0]&lastOfState != 0
	key[0] &^= lastOfState
	if string(key[:len(c.keyGroup)]) != string(c.keyGroup) {
		r.Fail("key of another key group: %x where %x is expected", key[:len(c.keyGroup)], c.keyGroup)
	}
	c.entry = Entry{key, value}
}
