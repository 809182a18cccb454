package flink

import (
	"context"
	"sync"

	"github.com/statebridge/statebridge/fault"
)

// span is where a key group lies in its stream.
type span struct {
	keyGroup int
	off, end int64
}

// block is the run of entries of one state in a key group.
type block struct {
	state   int // -1: none, the key group is at its end
	next    position
	stopped bool // its reader had enough; next is not known
}

// blocks remembers where the states of one key group start, as far as it has been read, so that a state is found without
// parsing those before it again.
type blocks struct {
	mu    sync.Mutex
	known []position // by state; zero: not found yet. No block lies there, since a stream starts with its head
	next  position   // where the block after the last known one starts
	ended bool       // there is none
}

func (b *blocks) find(state int) (at position, known, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state < len(b.known) && b.known[state] != (position{}) {
		return b.known[state], true, false
	}
	return b.next, false, b.ended
}

// record notes that a block starts at at, and says whether it is the only one of its state.
func (b *blocks) record(at position, found block) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found.state < 0 {
		b.ended = b.ended || at == b.next
		return true
	}
	for len(b.known) <= found.state {
		b.known = append(b.known, position{})
	}
	switch b.known[found.state] {
	case at:
		return true
	case position{}:
		b.known[found.state], b.next = at, found.next
		return true
	}
	return false
}

// blocksOf gives the index of a key group whose first block starts at first.
func (k *KeyGroups) blocksOf(keyGroup int, first position) *blocks {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.blocks[keyGroup]
	if b == nil {
		b = &blocks{next: first}
		k.blocks[keyGroup] = b
	}
	return b
}

// blockReader reads the block at a position. It shows the entries to yield if the block is of the wanted state, and else
// steps over them.
type blockReader func(ctx context.Context, s span, at position, want int, yield func(Entry, error) bool) (block, error)

// seek reads the block of one state, and those before it if it is not known where it starts. It says whether there is one.
func (k *KeyGroups) seek(ctx context.Context, s span, b *blocks, want int, read blockReader, yield func(Entry, error) bool) (bool, error) {
	for {
		at, known, ended := b.find(want)
		if ended {
			return false, nil
		}
		found, err := read(ctx, s, at, want, yield)
		if err != nil {
			return false, err
		}
		if known && found.state != want {
			return false, fault.Corrupt(k.file.Name(), at.at, "state %d where state %d was before", found.state, want)
		}
		if !found.stopped && !b.record(at, found) {
			return false, fault.Corrupt(k.file.Name(), at.at, "state %d a second time", found.state)
		}
		if found.state == want {
			return true, nil
		}
	}
}
