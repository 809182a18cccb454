package flink

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// rawKeyed calls read with each raw keyed handle of a fixture.
func (s *snapshot) rawKeyed(read func(o *Operator, h *KeyGroupsHandle)) {
	for i := range s.Operators {
		for _, sub := range s.Operators[i].Subtasks {
			if h, ok := sub.RawKeyed.(*KeyGroupsHandle); ok {
				read(&s.Operators[i], h)
			}
		}
	}
}

func TestTimers(t *testing.T) {
	s := openFixture(t, "timers-1.20")
	want, _ := s.expected(t)
	got := map[string]int{}
	s.rawKeyed(func(o *Operator, h *KeyGroupsHandle) {
		timers, err := OpenTimers(context.Background(), h, s.open, s.options(), o.MaxParallelism)
		if err != nil {
			t.Fatal(err)
		}
		defer timers.Close()
		for id, schema := range timers.States() {
			var r state.Row
			for g := timers.Range().First; g <= timers.Range().Last; g++ {
				for e, err := range timers.Entries(context.Background(), id, g) {
					if err != nil {
						t.Fatal(err)
					}
					got[render(t, o.ID, schema, &r, e)]++
					if r.KeyGroup != g {
						t.Fatalf("key group %d in %d", r.KeyGroup, g)
					}
				}
			}
		}
	})
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// timersStream gives the bytes of a real stream and its handle.
func timersStream(t testing.TB) ([]byte, *KeyGroupsHandle) {
	t.Helper()
	s := openFixture(t, "timers-1.20")
	var b []byte
	var handle *KeyGroupsHandle
	s.rawKeyed(func(_ *Operator, h *KeyGroupsHandle) {
		f, err := s.open(context.Background(), h.Stream)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if b, err = storage.ReadAll(context.Background(), f, 1<<20); err != nil {
			t.Fatal(err)
		}
		handle = h
	})
	return b, handle
}

// readTimers reads all of a stream.
func readTimers(b []byte, h *KeyGroupsHandle) error {
	open := func(context.Context, *StreamHandle) (storage.File, error) { return storage.NewInline("timers", b), nil }
	timers, err := OpenTimers(context.Background(), h, open, state.Options{}, 128)
	if err != nil {
		return err
	}
	for id := range timers.States() {
		for g := h.Range.First; g <= h.Range.Last; g++ {
			for _, err := range timers.Entries(context.Background(), id, g) {
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func TestTimersCut(t *testing.T) {
	b, h := timersStream(t)
	for n := 0; n < len(b); n += 7 {
		if err := readTimers(b[:n], h); !errors.Is(err, fault.ErrCorrupt) {
			t.Fatalf("cut at %d of %d: %v", n, len(b), err)
		}
	}
}

func TestTimersFlipped(t *testing.T) {
	b, h := timersStream(t)
	for bit := 0; bit < min(8*len(b), 20_000); bit += 7 {
		b[bit/8] ^= 1 << (bit % 8)
		if err := readTimers(b, h); !formatError(err) {
			t.Fatalf("bit %d: %v", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func TestTimersRefuse(t *testing.T) {
	h := &KeyGroupsHandle{Range: KeyGroupRange{0, 1}, Offsets: []int64{noKeyGroup, 0}}
	for name, c := range map[string]struct {
		b    []byte
		want error
		text string
	}{
		"state of the user's own": {bytes.Repeat([]byte("own!"), 9), fault.ErrUnsupported, "not Flink's timers"},
		"other format":            {[]byte("\xF1\xCD\x85\x9F\x00\x00\x00\x01\x00\x00\x00\x00"), fault.ErrUnsupported, "format 1"},
		"left over":               {[]byte("\xF1\xCD\x85\x9F\x00\x00\x00\x02\x00\x00\x00\x00x"), fault.ErrCorrupt, "left over"},
		"negative count":          {[]byte("\xF1\xCD\x85\x9F\x00\x00\x00\x02\xFF\xFF\xFF\xFF"), fault.ErrCorrupt, "negative"},
		"no service":              {[]byte("\xF1\xCD\x85\x9F\x00\x00\x00\x02\x00\x00\x00\x00"), nil, ""},
	} {
		if err := readTimers(c.b, h); !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := readTimers(nil, &KeyGroupsHandle{Range: KeyGroupRange{0, 1}, Offsets: []int64{noKeyGroup, noKeyGroup}}); err != nil {
		t.Errorf("no key group: %v", err)
	}
}

func FuzzTimers(f *testing.F) {
	b, h := timersStream(f)
	first := 0
	for h.Offsets[first] == noKeyGroup {
		first++
	}
	f.Add(b[h.Offsets[first]:min(int(h.Offsets[first])+2000, len(b))])
	one := &KeyGroupsHandle{Range: KeyGroupRange{0, 0}, Offsets: []int64{0}}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readTimers(b, one); !formatError(err) {
			t.Fatal(err)
		}
	})
}
