package flink

import "sync"

// places remembers where the key groups of change sets begin, so that a range of key groups is read without the others. It holds what
// passes through whole sets have seen; of compressed files nothing, since those are decoded from the front anyway.
type places struct {
	mu    sync.Mutex
	sets  map[setID][]groupPlace
	count int
}

// maxPlaces bounds the key groups that are remembered, of all sets together.
const maxPlaces = 1 << 20

// setID is a file of a handle, by their indices.
type setID struct{ handle, file int }

// groupPlace is a key group of a change set.
type groupPlace struct {
	keyGroup, n int
	off         int64 // of its first change, decoded
}

func (p *places) find(id setID) []groupPlace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sets[id]
}

func (p *places) keep(id setID, groups []groupPlace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets[id] != nil || p.count+len(groups) > maxPlaces {
		return
	}
	if p.sets == nil {
		p.sets = map[setID][]groupPlace{}
	}
	p.sets[id] = groups
	p.count += len(groups)
}
