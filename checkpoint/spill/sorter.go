package spill

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// maxRuns bounds the files that are open at once; more are merged into one first.
const maxRuns = 128

// Sorter collects pairs and gives them back in key order, equal keys in the order of their arrival. The zero value of
// Memory means DefaultMemory for this one alone, that of Dir the system's directory for temporary files.
type Sorter struct {
	Dir    string
	Memory *Memory

	arena arena
	runs  []*os.File
}

// Add copies one pair. An error is one of writing a run.
func (s *Sorter) Add(key, value []byte) error {
	if s.arena.memory == nil {
		if s.arena.memory = s.Memory; s.Memory == nil {
			s.arena.memory = NewMemory(4 * DefaultMemory) // of which one Sorter may have a quarter
		}
	}
	if s.arena.add(key, value) {
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.arena.add(key, value)
	return nil
}

func (s *Sorter) sort() { slices.SortFunc(s.arena.pairs, s.arena.compare) }

// Sorted ends the collecting. The cursor owns the run files; the Sorter is empty afterwards and may be used again, but
// not before the cursor is closed.
func (s *Sorter) Sorted() (*Cursor, error) {
	if len(s.runs) == 0 {
		s.sort()
		return &Cursor{sources: []source{&memorySource{arena: &s.arena}}, done: s.arena.empty}, nil
	}
	if len(s.arena.pairs) > 0 {
		if err := s.spill(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.arena.free()
	runs := s.runs
	s.runs = nil
	return openRuns(runs)
}

// Close drops what was collected.
func (s *Sorter) Close() error {
	s.arena.free()
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
	for _, p := range s.arena.pairs {
		w.add(s.arena.key(p), s.arena.value(p))
	}
	run, err := w.finish()
	if err != nil {
		return err
	}
	s.arena.empty()
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
	c, err := openRuns(runs)
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
