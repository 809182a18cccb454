package flink

import (
	"context"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
	"github.com/statebridge/statebridge/state/javaio"
)

// Changelog reads the changes that one subtask made since its state was materialized, in the order in which they were made. Its methods may be
// called from several goroutines, UseKey before the others.
//
//	file         1 = the rest is framed Snappy, 0 = it is not (1B), then change sets, of several subtasks
//	change set   n (4B), n × { n (4B), key group or FFFFFFFF for metadata (4B), n × { length (4B), change } }
//	change       operation (1B), state (2B), key, namespace, what the operation needs; of timers no key and no namespace
//	metadata     8 (1B), format (4B), meta info, [not of timers: TTL (1B) and its config, default (1B) and its value,]
//	             state (2B), backend type (1B)
//
// Only a change set's (file, offset) says where it lies; the offset counts decoded bytes behind the flag.
type Changelog struct {
	handle         *ChangelogHandle
	open           Opener
	o              state.Options
	maxParallelism int
	states         []*LoggedState
	metas          []loggedMeta // in the order of the log
	key            state.Codec  // nil: known nowhere
	places         places
}

// LoggedState is a state that changed.
type LoggedState struct {
	Name string
	// Versions are the descriptions that the log has of it; a change belongs to the one that stands before it.
	Versions []*state.Schema

	timers bool
	seen   map[string]int // description -> version
}

// loggedMeta says what a number stands for from some place of the log on.
type loggedMeta struct {
	id             int16
	state, version int
}

const (
	metaFormat = 7
	// metaTail is the state's number and the backend type, the end of metadata.
	metaTail = 2 + 1
	// The codes of backend types; elsewhere their ordinals are written.
	codeKeyValue      = 0
	codePriorityQueue = 3
)

// OpenChangelog reads the metadata in the log of h and passes by the changes. open has to open whole files (Resolver.OpenFile): the sizes in handles are not those
// of files.
func OpenChangelog(ctx context.Context, h *ChangelogHandle, open Opener, o state.Options, maxParallelism int) (*Changelog, error) {
	l := &Changelog{handle: h, open: open, o: o, maxParallelism: maxParallelism}
	w := &logWalk{log: l, ctx: ctx, metaOnly: true, visit: func(c logged) (bool, error) {
		return true, l.learn(c)
	}}
	if err := w.run(); err != nil {
		return nil, err
	}
	for _, s := range l.states {
		if k := s.Versions[0].Key; s.timers && l.key == nil && k.Type().Kind != state.Raw {
			l.UseKey(k)
		}
	}
	if l.key == nil {
		l.setKeys(state.UnknownKey(whyNoKey))
	}
	return l, nil
}

// States lists the states that changed. A state's number is its index.
func (l *Changelog) States() []*LoggedState { return l.states }

// Key is the serializer of keys, if it is known: the log has it only if there are timers in it.
func (l *Changelog) Key() state.Codec { return l.key }

// UseKey tells the serializer of keys.
func (l *Changelog) UseKey(key state.Codec) {
	l.key = key
	l.setKeys(key)
}

func (l *Changelog) setKeys(key state.Codec) {
	for _, s := range l.states {
		for _, v := range s.Versions {
			if !s.timers {
				v.Key = key
			}
		}
	}
}

// learn takes in one piece of metadata.
func (l *Changelog) learn(c logged) error {
	if len(c.data) < 1+4+metaTail || c.data[0] != opMetadata {
		return fault.Corrupt(c.file, c.off, "%d bytes that describe no state", len(c.data))
	}
	head, tail := c.data[:len(c.data)-metaTail], javaio.NewReader(c.file, c.off+int64(len(c.data)-metaTail), c.data[len(c.data)-metaTail:])
	id, code := tail.Int16(), tail.Uint8()
	m := loggedMeta{id: id, state: -1}
	for i, s := range l.states {
		if v, ok := s.seen[string(head)]; ok {
			m.state, m.version = i, v
		}
	}
	if m.state < 0 {
		schema, err := l.parseMeta(c, head, code)
		if err != nil {
			return err
		}
		if m.state, m.version, err = l.addVersion(c, string(head), schema); err != nil {
			return err
		}
	}
	if want := l.states[m.state].code(); code != want {
		return fault.Corrupt(c.file, c.off, "state %q of backend type %d, its description says %d", l.states[m.state].Name, code, want)
	}
	l.metas = append(l.metas, m)
	return nil
}

func (s *LoggedState) code() uint8 {
	if s.timers {
		return codePriorityQueue
	}
	return codeKeyValue
}

func (l *Changelog) parseMeta(c logged, head []byte, code uint8) (*state.Schema, error) {
	r := javaio.NewReader(c.file, c.off, head)
	r.Skip(1)
	if v := r.Int32(); r.Err() == nil && v != metaFormat {
		r.Unsupported("metadata of format %d is not supported (%d is)", v, metaFormat)
	}
	s := state.ReadLoggedMeta(r, l.o, nil)
	if r.Err() == nil && code == codeKeyValue {
		skipSettings(r)
	}
	if r.Err() == nil {
		r.End()
	}
	return s, r.Err()
}

func (l *Changelog) addVersion(c logged, head string, schema *state.Schema) (at, version int, err error) {
	timers := schema.Kind == state.KindTimer
	schema.MaxParallelism = l.maxParallelism
	for at = range l.states {
		if l.states[at].Name == schema.Name && l.states[at].timers == timers {
			s := l.states[at]
			if was := s.Versions[0].Kind; was != schema.Kind {
				return 0, 0, fault.Unsupported(c.file, c.off, "state %q becomes %s and was %s", s.Name, schema.Kind, was)
			}
			s.Versions = append(s.Versions, schema)
			s.seen[head] = len(s.Versions) - 1
			return at, len(s.Versions) - 1, nil
		}
	}
	l.states = append(l.states, &LoggedState{Name: schema.Name, Versions: []*state.Schema{schema}, timers: timers, seen: map[string]int{head: 0}})
	return len(l.states) - 1, 0, nil
}

// whyNoKey says why the changes of a state cannot be read.
const whyNoKey = "a changelog does not say how keys are serialized, and the operator has neither a materialization nor timers that would: " +
	"read a checkpoint that was taken after a materialization, or a savepoint; without one the type of the key would have to be given"
