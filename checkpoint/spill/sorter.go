package spill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
)

const (
	// DefaultMemory is the memory in bytes that a Sorter holds before it spills, unless told otherwise.
	DefaultMemory = 64 << 20
	// maxRuns bounds the files that are open at once; more are merged into one first.
	maxRuns = 128
	// pairOverhead is what a pair costs in memory beyond its bytes.
	pairOverhead = 24
)

// Sorter collects pairs and gives them back in key order, equal keys in the order of their arrival. The zero value of
// Memory means DefaultMemory, that of Dir the system's directory for temporary files.
type Sorter struct {
	Dir    string
	Memory int

	arena []byte
	pairs []pair
	runs  []*os.File
}

type pair struct {
	start    int // of the key in the arena
	key, val int // lengths
}

// Add copies one pair. An error is one of writing a run.
func (s *Sorter) Add(key, value []byte) error {
	if len(s.pairs) > 0 && s.used()+len(key)+len(value)+pairOverhead > s.memory() {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.pairs = append(s.pairs, pair{len(s.arena), len(key), len(value)})
	s.arena = append(append(s.arena, key...), value...)
	return nil
}

func (s *Sorter) memory() int {
	if s.Memory > 0 {
		return s.Memory
	}
	return DefaultMemory
}

func (s *Sorter) used() int { return len(s.arena) + pairOverhead*len(s.pairs) }

func (s *Sorter) key(p pair) []byte { return s.arena[p.start : p.start+p.key] }

func (s *Sorter) value(p pair) []byte { return s.arena[p.start+p.key : p.start+p.key+p.val] }

func (s *Sorter) sort() {
	slices.SortStableFunc(s.pairs, func(a, b pair) int { return bytes.Compare(s.key(a), s.key(b)) })
}

// Sorted ends the collecting. The cursor owns the run files; the Sorter is empty afterwards and may be used again, but
// not before the cursor is closed.
func (s *Sorter) Sorted() (*Cursor, error) {
	s.sort()
	if len(s.runs) == 0 {
		return &Cursor{sources: []source{&memorySource{sorter: s}}, done: s.reset}, nil
	}
	if len(s.pairs) > 0 {
		if err := s.spill(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	runs := s.runs
	s.runs = nil
	return openRuns(runs, s.memory(), s.reset)
}

func (s *Sorter) reset() { s.arena, s.pairs = s.arena[:0], s.pairs[:0] }

// Close drops what was collected.
func (s *Sorter) Close() error {
	s.reset()
	err := closeAll(s.runs)
	s.runs = nil
	return err
}

func (s *Sorter) spill() error {
	s.sort()
	w, err := createRun(s.Dir)
	if err != nil {
		return err
	}
	for _, p := range s.pairs {
		w.add(s.key(p), s.value(p))
	}
	run, err := w.finish()
	if err != nil {
		return err
	}
	s.reset()
	s.runs = append(s.runs, run)
	if len(s.runs) < maxRuns {
		return nil
	}
	return s.mergeRuns()
}

// mergeRuns makes one run of all, which keeps equal keys in order because runs are ordered by age.
func (s *Sorter) mergeRuns() error {
	runs := s.runs
	s.runs = nil
	c, err := openRuns(runs, s.memory(), func() {})
	if err != nil {
		return err
	}
	w, err := createRun(s.Dir)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	for c.Next() {
		w.add(c.Key(), c.Value())
	}
	run, err := w.finish()
	if err = errors.Join(err, c.Err(), c.Close()); err != nil {
		return fmt.Errorf("merge spilled runs: %w", err)
	}
	s.runs = []*os.File{run}
	return nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, closeRun(f))
	}
	return errors.Join(errs...)
}
