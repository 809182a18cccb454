package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// mergedKey holds all rows of one key, after namespaces of it were merged and so its rows depended on one another. In
// memory are the values of one key, never its changes.
type mergedKey struct {
	rows map[string]*row
	keys []string // of rows that are left to show
	kind state.Kind
	size int // of values
}

// mergeKey works out the rows of a key whose composite keys begin with front.
func (c *changelogCursor) mergeKey(front []byte) (m *mergedKey, err error) {
	front = bytes.Clone(front)
	m = &mergedKey{rows: map[string]*row{}, kind: c.joined.Kind}
	for c.baseLeft && c.err == nil && bytes.HasPrefix(c.base.Key(), front) {
		m.at(c.base.Key()).set(c.base.Value(), c.base.Schema())
		m.size += len(c.base.Value())
		c.stepBase = true
		c.advance()
	}
	sorter := spill.Sorter{Dir: c.sorter.Dir, Memory: c.sorter.Memory}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	if err := errors.Join(c.err, c.resort(front, &sorter)); err != nil {
		return nil, err
	}
	sorted, err := sorter.Sorted()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sorted.Close()) }()
	for sorted.Next() {
		key, rest := takeSized(sorted.Value())
		rec := readRecord(rest)
		if err := m.apply(key, rec, c.schemas[rec.version]); err != nil {
			return nil, err
		}
	}
	m.keys = slices.Sorted(maps.Keys(m.rows))
	return m, sorted.Err()
}

// resort brings the changes of one key back into the order of the log.
func (c *changelogCursor) resort(front []byte, into *spill.Sorter) error {
	var seq [8]byte
	var buf []byte
	for c.err == nil && c.changesLeft && bytes.HasPrefix(c.changes.Key(), front) {
		binary.BigEndian.PutUint64(seq[:], readRecord(c.changes.Value()).seq)
		buf = append(appendSized(buf[:0], c.changes.Key()), c.changes.Value()...)
		if err := into.Add(seq[:], buf); err != nil {
			return err
		}
		c.advanceChanges()
	}
	return c.err
}

func (m *mergedKey) at(key []byte) *row {
	r := m.rows[string(key)]
	if r == nil {
		r = &row{}
		m.rows[string(key)] = r
	}
	return r
}

func (m *mergedKey) apply(key []byte, rec record, s *state.Schema) error {
	if rec.op != flink.Merge {
		r := m.at(key)
		m.size -= len(r.value)
		err := r.apply(rec, s)
		if m.size += len(r.value); err == nil && m.size > maxRow {
			err = fault.Unsupported("", -1, "state %q: a key whose namespaces hold more than %d bytes", s.Name, maxRow)
		}
		return err
	}
	name, rest := takeSized(rec.value)
	target := m.at(name)
	for len(rest) > 0 {
		if name, rest = takeSized(rest); m.at(name) == target {
			continue
		}
		if err := m.move(m.at(name), target); err != nil {
			return err
		}
	}
	return nil
}

// move brings what a source holds to the target. Two accumulators are one only for the job's function: the value is unknown until the
// job sets it, as it does when it adds what made it merge.
func (m *mergedKey) move(source, target *row) error {
	switch {
	case !source.present:
		return nil
	case !target.present:
		*target, *source = *source, *target
	case m.kind == state.KindList:
		if err := target.append(source.value, source.schema); err != nil {
			return err
		}
	default:
		target.unknown = true
	}
	source.remove()
	return nil
}

// next puts the next row into the cursor.
func (m *mergedKey) next(c *changelogCursor) bool {
	for len(m.keys) > 0 {
		key := m.keys[0]
		m.keys = m.keys[1:]
		if r := m.rows[key]; r.present {
			c.key, c.row = append(c.key[:0], key...), *r
			delete(m.rows, key)
			return true
		}
	}
	return false
}
