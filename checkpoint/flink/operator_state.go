package flink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

// OperatorState reads the operator state of one subtask. Its methods may be called from several goroutines.
//
//	head at 0     format (4B), compression (1B, format 6), n (2B), n list states, n (2B), n broadcast states
//	data          at each offset of the handle an element of a list, or of a broadcast state n (4B), n × { key, value }
//
// Compressed, the data is one Snappy stream; the offsets are places in the file at which a chunk starts, so that reading
// begins without the stream's identifier.
type OperatorState struct {
	file   storage.File // nil: there is no state
	handle *OperatorHandle
	meta   *state.OperatorMeta
	starts []int64 // where elements start, sorted
}

// OpenOperatorState opens the stream of a managed operator handle and reads its head.
func OpenOperatorState(ctx context.Context, h *OperatorHandle, open Opener, o state.Options) (*OperatorState, error) {
	s := &OperatorState{handle: h, meta: &state.OperatorMeta{}}
	if h.Empty || h.Stream.Kind == EmptySegment {
		return s, nil
	}
	for _, st := range h.States {
		s.starts = append(s.starts, st.Offsets...)
	}
	slices.Sort(s.starts)
	f, err := open(ctx, h.Stream)
	if err != nil {
		return nil, err
	}
	s.file = fetch.Windowed(f)
	if err := s.readHead(ctx, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *OperatorState) readHead(ctx context.Context, o state.Options) error {
	end := s.file.Size()
	if len(s.starts) > 0 {
		end = min(end, s.starts[0])
	}
	if end < 0 || end > maxHead {
		return fault.Corrupt(s.file.Name(), 0, "a head of %d bytes", end)
	}
	b := make([]byte, end)
	if err := s.file.ReadAt(ctx, b, 0); err != nil {
		return err
	}
	r := javaio.NewReader(s.file.Name(), 0, b)
	s.meta = state.ReadOperatorMeta(r, o)
	if s.meta != nil && s.meta.Compression && len(r.Rest()) == chunkHeader+len(identifier) {
		r.Skip(r.Len()) // where a Snappy stream starts
	}
	r.End()
	if err := r.Err(); err != nil {
		return err
	}
	return s.check()
}

// check compares what the handle and the head say.
func (s *OperatorState) check() error {
	kinds := map[string]state.Kind{}
	for _, m := range s.States() {
		kinds[m.Name] = m.Kind
	}
	for _, h := range s.handle.States {
		kind, ok := kinds[h.Name]
		if want := modeKinds[h.Mode]; !ok || kind != want {
			return fault.Corrupt(s.file.Name(), 0, "state %q is %s in the _metadata and %s here", h.Name, want, cmp.Or(string(kind), "absent"))
		}
		if h.Mode == Broadcast && len(h.Offsets) > 1 {
			return fault.Corrupt(s.file.Name(), 0, "broadcast state %q in %d places", h.Name, len(h.Offsets))
		}
	}
	return nil
}

var modeKinds = [...]state.Kind{SplitDistribute: state.KindOpList, Union: state.KindOpUnion, Broadcast: state.KindBroadcast}

// Meta gives the head.
func (s *OperatorState) Meta() *state.OperatorMeta { return s.meta }

// States lists the list states and then the broadcast states. A state's id is its index.
func (s *OperatorState) States() []*state.Schema {
	return slices.Concat(s.meta.Operator, s.meta.Broadcast)
}

// Close closes the stream.
func (s *OperatorState) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Entries gives what this subtask holds of a state: the elements of a list in their order, each a Value without a Key,
// or the entries of a broadcast state, of which every subtask holds a copy, with the serialized key for a Key. The bytes
// are valid until the next entry. An error is the last pair.
func (s *OperatorState) Entries(ctx context.Context, stateID int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		states := s.States()
		if stateID < 0 || stateID >= len(states) {
			yield(Entry{}, fmt.Errorf("operator state %d of %d", stateID, len(states)))
			return
		}
		if err := s.entries(ctx, states[stateID], yield); err != nil {
			yield(Entry{}, fmt.Errorf("state %q: %w", states[stateID].Name, err))
		}
	}
}

func (s *OperatorState) entries(ctx context.Context, schema *state.Schema, yield func(Entry, error) bool) error {
	i := slices.IndexFunc(s.handle.States, func(o OperatorOffsets) bool { return o.Name == schema.Name })
	if i < 0 {
		return nil
	}
	offsets := s.handle.States[i].Offsets
	read := s.element
	if schema.Kind == state.KindBroadcast {
		read = s.broadcast
	}
	for i, off := range offsets {
		end, err := s.endOf(offsets[i:])
		if err != nil {
			return err
		}
		w := newWindow(s.source(off, end), s.file.Name())
		more, err := read(ctx, w, schema, yield)
		if err == nil && !more {
			w.lend()
		}
		w.free()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// endOf gives the end of the first of some elements: the start of the next one, of this state or of another.
func (s *OperatorState) endOf(offsets []int64) (int64, error) {
	off, end := offsets[0], s.file.Size()
	if i, _ := slices.BinarySearch(s.starts, off+1); i < len(s.starts) {
		end = min(end, s.starts[i])
	}
	if len(offsets) > 1 && offsets[1] == off { // an element of no bytes
		end = off
	}
	if off > end || len(offsets) > 1 && offsets[1] < off {
		return 0, fault.Corrupt(s.file.Name(), off, "element outside of its stream")
	}
	return end, nil
}

func (s *OperatorState) source(off, end int64) source {
	if s.meta.Compression {
		return newFrames(s.file, off, end, false)
	}
	return newPlain(s.file, position{at: off}, end)
}

// element gives all there is. Its end is known, so it need not be decodable.
func (s *OperatorState) element(ctx context.Context, w *window, _ *state.Schema, yield func(Entry, error) bool) (bool, error) {
	b, err := w.all(ctx)
	if err != nil {
		return false, err
	}
	return yield(Entry{Value: b}, nil), nil
}

func (s *OperatorState) broadcast(ctx context.Context, w *window, schema *state.Schema, yield func(Entry, error) bool) (bool, error) {
	n := 0
	if err := w.next(ctx, func(r *javaio.Reader) { n = count(r) }); err != nil {
		return false, err
	}
	var e Entry
	parse := func(r *javaio.Reader) {
		e.Key = cut(r, schema.MapKey)
		e.Value = cut(r, schema.Value)
	}
	for range n {
		if err := w.next(ctx, parse); err != nil {
			return false, err
		}
		if !yield(e, nil) {
			return false, nil
		}
	}
	ended, err := w.end(ctx)
	if err == nil && !ended {
		err = fault.Corrupt(w.name, w.fileOffset(), "bytes left over behind broadcast state")
	}
	return true, err
}
