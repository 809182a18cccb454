package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// A record is a change on its way through the sorter, under the key that it is about:
//
//	operation (1B), number in the log (uvarint), version of the description (uvarint), value
//
// Of a merge of namespaces the value is the target's key and those of the sources, each with its length (uvarint) in front.
type record struct {
	op      flink.ChangeOp
	seq     uint64
	version int
	value   []byte
}

func appendRecord(dst []byte, seq uint64, c flink.Change) []byte {
	dst = append(dst, byte(c.Op))
	dst = binary.AppendUvarint(dst, seq)
	dst = binary.AppendUvarint(dst, uint64(c.Version))
	if c.Op != flink.Merge {
		return append(dst, c.Value...)
	}
	dst = appendSized(dst, c.Target)
	for _, s := range c.Sources {
		dst = appendSized(dst, s)
	}
	return dst
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// readRecord reads what appendRecord wrote.
func readRecord(b []byte) record {
	r := record{op: flink.ChangeOp(b[0])}
	b = b[1:]
	seq, n := binary.Uvarint(b)
	version, m := binary.Uvarint(b[n:])
	r.seq, r.version, r.value = seq, int(version), b[n+m:]
	return r
}

func takeSized(b []byte) (part, rest []byte) {
	size, n := binary.Uvarint(b)
	return b[n : n+int(size)], b[n+int(size):]
}

// cursor sorts the changes that concern a range and opens the base there.
func (c *changelog) cursor(ctx context.Context, p *part, groups KeyGroups, lower, upper []byte) (Cursor, error) {
	s := c.states[p.id]
	if s.logged < 0 {
		return s.base(ctx, groups, lower, upper), nil
	}
	out := &changelogCursor{schemas: s.versions, lower: lower, upper: upper, sorter: spill.Sorter{Dir: c.dir, Memory: c.memory}, joined: p.schema}
	wide, err := c.sort(ctx, s, groups, out)
	if err == nil {
		out.changes, err = out.sorter.Sorted()
	}
	if err != nil {
		return nil, errors.Join(err, out.sorter.Close())
	}
	if wide {
		lower, upper = nil, nil
	}
	out.base = s.base(ctx, groups, lower, upper)
	out.stepBase, out.stepChanges = true, true
	return out, nil
}

// sort says whether a merge of namespaces makes rows depend on others, which may lie outside of the range.
func (c *changelog) sort(ctx context.Context, s *changedState, groups KeyGroups, out *changelogCursor) (wide bool, err error) {
	merging := slices.Contains([]state.Kind{state.KindList, state.KindReducing, state.KindAggregating}, s.versions[0].Kind)
	var seq uint64
	var buf []byte
	for ch, err := range c.log.Changes(ctx, s.logged, flink.KeyGroupRange(groups)) {
		if err != nil {
			return false, err
		}
		seq++
		wide = wide || ch.Op == flink.Merge
		if !merging && !out.concerns(ch) {
			continue
		}
		buf = appendRecord(buf[:0], seq, ch)
		if err := out.sorter.Add(ch.Key, buf); err != nil {
			return false, err
		}
	}
	return wide, nil
}

// concerns says whether a change can have an effect in the range.
func (c *changelogCursor) concerns(ch flink.Change) bool {
	if c.upper != nil && bytes.Compare(ch.Key, c.upper) >= 0 {
		return false
	}
	return bytes.Compare(ch.Key, c.lower) >= 0 || ch.Op == flink.RemoveAll && bytes.HasPrefix(c.lower, ch.Key)
}

// base walks what was materialized.
func (s *changedState) base(ctx context.Context, groups KeyGroups, lower, upper []byte) Cursor {
	var opens []func() (Cursor, error)
	for i := range s.bases {
		b := &s.bases[i]
		if b.groups.Overlaps(groups) {
			opens = append(opens, func() (Cursor, error) {
				return b.source.cursor(ctx, b, b.groups.Clip(groups), lower, upper)
			})
		}
	}
	return &chain{opens: opens}
}

// row is the state of one row while changes are applied to it.
type row struct {
	present bool
	unknown bool // the job's own function would have to be called to know the value
	value   []byte
	schema  *state.Schema
}

// maxRow bounds a list that is put together.
const maxRow = 1 << 30

func (r *row) set(value []byte, s *state.Schema) {
	r.present, r.unknown = true, false
	r.value, r.schema = append(r.value[:0], value...), s
}

func (r *row) remove() { r.present, r.unknown, r.value = false, false, r.value[:0] }

func (r *row) apply(rec record, s *state.Schema) error {
	switch rec.op {
	case flink.Put:
		r.set(rec.value, s)
	case flink.AppendList:
		return r.append(rec.value, s)
	default:
		r.remove()
	}
	return nil
}

// append adds the elements of a list.
func (r *row) append(value []byte, s *state.Schema) error {
	if !r.present {
		r.set(value, s)
		return nil
	}
	if !sameValue(r.schema, s) {
		return fault.Unsupported("", -1, "state %q: a list has elements of an older serializer and of a newer one", s.Name)
	}
	if len(r.value)+len(value) > maxRow {
		return fault.Unsupported("", -1, "state %q: a list of more than %d bytes", s.Name, maxRow)
	}
	r.value = append(append(r.value, ','), value...)
	return nil
}
