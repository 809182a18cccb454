package flink

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// operatorHead gives the head of the real stream that has the given state: the lists buffer and offsets (a union) are in one,
// the broadcast states rules and limits (int to long) in another.
func operatorHead(t testing.TB, name string) []byte {
	t.Helper()
	snap := openFixture(t, "broadcast-2.3")
	for _, o := range snap.Operators {
		for _, sub := range o.Subtasks {
			h := sub.ManagedOperator
			if h == nil || !slices.ContainsFunc(h.States, func(s OperatorOffsets) bool { return s.Name == name }) {
				continue
			}
			first := h.Stream.Size
			for _, s := range h.States {
				first = min(first, slices.Min(append(s.Offsets, first)))
			}
			return bytes.Clone(h.Stream.Inline[:first])
		}
	}
	t.Fatalf("no state %q", name)
	return nil
}

func operatorState(b []byte, states ...OperatorOffsets) (*OperatorState, error) {
	h := &OperatorHandle{States: states, Stream: &StreamHandle{Kind: Bytes, Inline: b}}
	open := func(context.Context, *StreamHandle) (storage.File, error) { return storage.NewInline("stream", b), nil }
	return OpenOperatorState(context.Background(), h, open, state.Options{Kryo5: true})
}

func readState(s *OperatorState, name string) ([]Entry, error) {
	var out []Entry
	for id, schema := range s.States() {
		if schema.Name != name {
			continue
		}
		for e, err := range s.Entries(context.Background(), id) {
			if err != nil {
				return out, err
			}
			out = append(out, Entry{bytes.Clone(e.Key), bytes.Clone(e.Value)})
		}
	}
	return out, nil
}

// TestOperatorStateCompressed: offsets of compressed state are places in the file, in the middle of the one Snappy
// stream.
func TestOperatorStateCompressed(t *testing.T) {
	b := operatorHead(t, "buffer")
	b[4] = 1
	b = append(b, streamStart...)
	long := bytes.Repeat([]byte("long"), 50<<10) // several chunks
	var at []int64
	for _, data := range [][]byte{[]byte("one"), long, []byte("union")} {
		at = append(at, int64(len(b)))
		b = append(b, frame(data)[len(streamStart):]...)
	}
	s, err := operatorState(b, OperatorOffsets{"buffer", SplitDistribute, at[:2]}, OperatorOffsets{"offsets", Union, at[2:]})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]Entry{"buffer": {{nil, []byte("one")}, {nil, long}}, "offsets": {{nil, []byte("union")}}} {
		got, err := readState(s, name)
		if err != nil {
			t.Fatal(err)
		}
		equalEntries(t, got, want)
	}
}

func TestBroadcastCompressed(t *testing.T) {
	b := operatorHead(t, "limits")
	b[4] = 1
	b = append(b, streamStart...)
	at := int64(len(b))
	var w writer
	w.i32(2).i32(7).i64(70).i32(8).i64(80)
	b = append(b, frame(w)[len(streamStart):]...)
	s, err := operatorState(b, OperatorOffsets{"limits", Broadcast, []int64{at}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readState(s, "limits")
	if err != nil {
		t.Fatal(err)
	}
	equalEntries(t, got, []Entry{{w[4:8], w[8:16]}, {w[16:20], w[20:28]}})
	if got, err = readState(s, "rules"); len(got) > 0 || err != nil {
		t.Errorf("a state that is not there: %v, %v", got, err)
	}
}

// TestOperatorStateEmpty: without an element the file ends behind its head, or there is none at all.
func TestOperatorStateEmpty(t *testing.T) {
	head := operatorHead(t, "buffer")
	compressed := append(bytes.Clone(head), streamStart...)
	compressed[4] = 1
	for name, b := range map[string][]byte{"plain": head, "compressed": compressed} {
		s, err := operatorState(b, OperatorOffsets{Name: "buffer"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := readState(s, "buffer"); len(got) > 0 || err != nil || len(s.States()) != 2 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	s, err := OpenOperatorState(context.Background(), &OperatorHandle{Stream: &StreamHandle{Kind: EmptySegment}}, nil, state.Options{})
	if err != nil || len(s.States()) > 0 || s.Close() != nil {
		t.Errorf("empty segment: %v", err)
	}
}

func TestOperatorStateRefuses(t *testing.T) {
	lists, broadcasts := operatorHead(t, "buffer"), operatorHead(t, "limits")
	end, bend := int64(len(lists)), int64(len(broadcasts))
	with := func(s string) []byte { return append(bytes.Clone(lists), s...) }
	withB := func(s string) []byte { return append(bytes.Clone(broadcasts), s...) }
	for name, c := range map[string]struct {
		b      []byte
		states OperatorOffsets
		read   string
		want   error
		text   string
	}{
		"left over behind the head": {with("x"), OperatorOffsets{Name: "buffer"}, "buffer", fault.ErrCorrupt, "left over"},
		"unknown state":             {lists, OperatorOffsets{Name: "other"}, "", fault.ErrCorrupt, `"other" is oplist in the _metadata and absent here`},
		"other mode":                {lists, OperatorOffsets{Name: "buffer", Mode: Union}, "", fault.ErrCorrupt, "opunion in the _metadata and oplist here"},
		"broadcast in two places":   {withB("\x00\x00\x00\x00\x00\x00\x00\x00"), OperatorOffsets{"limits", Broadcast, []int64{bend, bend + 4}}, "", fault.ErrCorrupt, "2 places"},
		"beyond the file":           {with("abc"), OperatorOffsets{"buffer", 0, []int64{end, end + 99}}, "buffer", fault.ErrCorrupt, "outside"},
		"backwards":                 {with("abc"), OperatorOffsets{"buffer", 0, []int64{end + 1, end}}, "buffer", fault.ErrCorrupt, "outside"},
		"negative":                  {lists, OperatorOffsets{"buffer", 0, []int64{-1}}, "buffer", fault.ErrCorrupt, ""},
		"broadcast cut short":       {withB("\x00\x00\x00\x02\x00\x00\x00\x07"), OperatorOffsets{"limits", Broadcast, []int64{bend}}, "limits", fault.ErrTruncated, ""},
		"broadcast left over":       {withB("\x00\x00\x00\x00x"), OperatorOffsets{"limits", Broadcast, []int64{bend}}, "limits", fault.ErrCorrupt, "left over"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := operatorState(c.b, c.states)
			if err == nil {
				defer s.Close()
				_, err = readState(s, c.read)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func FuzzOperatorState(f *testing.F) {
	lists, broadcasts := operatorHead(f, "buffer"), operatorHead(f, "limits")
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x07"), int64(9), false)
	f.Add(frame([]byte("\x00\x00\x00\x00"))[len(streamStart):], int64(2), true)
	f.Fuzz(func(t *testing.T, b []byte, off int64, compressed bool) {
		at, bat := int64(len(lists)), int64(len(broadcasts))
		fuzzState(t, append(bytes.Clone(lists), b...), compressed, OperatorOffsets{"buffer", SplitDistribute, []int64{at, at + off}})
		fuzzState(t, append(bytes.Clone(broadcasts), b...), compressed, OperatorOffsets{"limits", Broadcast, []int64{bat}})
	})
}

func fuzzState(t *testing.T, b []byte, compressed bool, states OperatorOffsets) {
	t.Helper()
	s, err := operatorState(b, states)
	if err == nil {
		s.meta.Compression = compressed
		_, err = readState(s, states.Name)
	}
	if !formatError(err) {
		t.Fatal(err)
	}
}
