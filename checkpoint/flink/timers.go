package flink

import (
	"context"
	"encoding/binary"
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

const (
	timersMagic   = 0xF1CD859F
	timersVersion = 2
	noKeyGroup    = -1 // for an offset; 0 is a real one here
)

// Timers reads the timers that an operator keeps on the heap beside a RocksDB or ForSt database: they are saved as raw
// keyed state. Each timer service gives two states, named as the other backends name them. Methods may be called from
// several goroutines.
//
//	at each key group's offset, -1 = none: F1CD859F (4B), version 2 (4B), n (4B), n services
//
//	service   utf name, key serializer, namespace serializer, n (4B), n event timers, n (4B), n processing timers
//	timer     key, namespace, timestamp (8B; elsewhere it comes first, with its sign flipped)
type Timers struct {
	file           storage.File
	handle         *KeyGroupsHandle
	o              state.Options
	maxParallelism int
	starts         []int64
	states         []*state.Schema // event and processing timers of each service in turn
}

// OpenTimers opens raw keyed state and finds the timer services in it. State that is none of Flink's own timers is
// unsupported: only the operator that wrote it knows what it is.
func OpenTimers(ctx context.Context, h *KeyGroupsHandle, open Opener, o state.Options, maxParallelism int) (*Timers, error) {
	f, err := open(ctx, h.Stream)
	if err != nil {
		return nil, err
	}
	t := &Timers{file: fetch.Windowed(f), handle: h, o: o, maxParallelism: maxParallelism, starts: slices.Clone(h.Offsets)}
	slices.Sort(t.starts)
	if err := t.findServices(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// findServices reads the first key group that there is: all have the same services.
func (t *Timers) findServices(ctx context.Context) error {
	for g := t.handle.Range.First; g <= t.handle.Range.Last; g++ {
		found, err := t.scan(ctx, g, func(s *service) (bool, error) {
			for _, domain := range []string{"event", "processing"} {
				schema := *s.schema
				schema.Name, schema.MaxParallelism = "_timer_state/"+domain+"_"+s.schema.Name, t.maxParallelism
				t.states = append(t.states, &schema)
			}
			return true, nil
		})
		if found || err != nil {
			return err
		}
	}
	return nil
}

// States lists the states. A state's id is its index.
func (t *Timers) States() []*state.Schema { return t.states }

// Range gives the key groups of the stream.
func (t *Timers) Range() KeyGroupRange { return t.handle.Range }

// Close closes the stream.
func (t *Timers) Close() error { return t.file.Close() }

// Entries gives the timers of one state in one key group, in no set order and in the form that RocksDB has: all in the
// key, the value empty. The bytes of an entry are valid until the next one. An error is the last pair.
func (t *Timers) Entries(ctx context.Context, stateID, keyGroup int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if stateID < 0 || stateID >= len(t.states) || !t.handle.Range.Contains(keyGroup) {
			yield(Entry{}, fmt.Errorf("state %d, key group %d: not among these timers", stateID, keyGroup))
			return
		}
		at := 0
		found, err := t.scan(ctx, keyGroup, func(s *service) (bool, error) {
			if at+1 >= len(t.states) || t.states[at].Name != "_timer_state/event_"+s.schema.Name {
				return false, fault.Corrupt(t.file.Name(), s.w.fileOffset(), "timer service %q is new", s.schema.Name)
			}
			s.wanted = stateID - at // 0 or 1, or of another service
			at += 2
			s.yield = yield
			return s.wanted > 1 || at == len(t.states), nil
		})
		if err == nil && found && at <= stateID {
			err = fault.Corrupt(t.file.Name(), -1, "%d states of timers, %d elsewhere", at, len(t.states))
		}
		if err != nil {
			yield(Entry{}, fmt.Errorf("state %q, key group %d: %w", t.states[stateID].Name, keyGroup, err))
		}
	}
}

// scan shows the services of a key group to visit until it says that it has seen enough, and reads the timers of each.
func (t *Timers) scan(ctx context.Context, keyGroup int, visit func(s *service) (more bool, err error)) (found bool, err error) {
	off, end := t.handle.Offsets[keyGroup-t.handle.Range.First], t.file.Size()
	if off == noKeyGroup {
		return false, nil
	}
	if off < 0 || off >= end {
		return false, fault.Corrupt(t.file.Name(), off, "key group %d starts outside of its stream of %d bytes", keyGroup, end)
	}
	if i, _ := slices.BinarySearch(t.starts, off+1); i < len(t.starts) {
		end = min(end, t.starts[i])
	}
	s := &service{w: newWindow(newPlain(t.file, position{at: off}, end), t.file.Name())}
	defer s.w.free()
	s.front = appendKeyGroup(nil, keyGroup, t.maxParallelism)
	n := 0
	if err := s.w.next(ctx, func(r *javaio.Reader) { n = timersHead(r) }); err != nil {
		return false, err
	}
	for range n {
		s.wanted = -1
		if err := s.w.next(ctx, func(r *javaio.Reader) { s.schema = state.ReadTimerSchema(r, t.o, r.UTF()) }); err != nil {
			return false, err
		}
		more, err := visit(s)
		if err != nil {
			return false, err
		}
		if goOn, err := s.timers(ctx); err != nil || !goOn || !more {
			return true, err
		}
	}
	ended, err := s.w.end(ctx)
	if err == nil && !ended {
		err = fault.Corrupt(t.file.Name(), s.w.fileOffset(), "bytes left over behind the timers of key group %d", keyGroup)
	}
	return true, err
}

func timersHead(r *javaio.Reader) (services int) {
	if magic := r.Uint32(); r.Err() == nil && magic != timersMagic {
		r.Unsupported("raw keyed state that is not Flink's timers (it starts with %08X)", magic)
	}
	if v := r.Int32(); r.Err() == nil && v != timersVersion {
		r.Unsupported("timers of format %d are not supported (%d is)", v, timersVersion)
	}
	return count(r)
}

// service reads the timers of one service in one key group.
type service struct {
	w      *window
	schema *state.Schema // named as the service
	front  []byte        // the key group as keys have it
	wanted int           // 0: event timers are shown to yield, 1: processing timers
	yield  func(Entry, error) bool
	key    []byte
}

// timers reads both kinds and says whether yield wants more.
func (s *service) timers(ctx context.Context) (bool, error) {
	for domain := range 2 {
		n := 0
		if err := s.w.next(ctx, func(r *javaio.Reader) { n = count(r) }); err != nil {
			return false, err
		}
		for range n {
			if err := s.w.next(ctx, s.parse); err != nil {
				return false, err
			}
			if domain == s.wanted && !s.yield(Entry{Key: s.key}, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

func (s *service) parse(r *javaio.Reader) {
	b := r.Rest()
	s.schema.Key.Skip(r)
	s.schema.Namespace.Skip(r)
	part := b[:len(b)-r.Len()]
	timestamp := uint64(r.Int64()) ^ 1<<63
	s.key = binary.BigEndian.AppendUint64(append(s.key[:0], s.front...), timestamp)
	s.key = append(s.key, part...)
}
