package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/statebridge/statebridge/checkpoint/flink"
	"github.com/statebridge/statebridge/checkpoint/spill"
	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// changelog is a source that lies in what the changelog backend saved: a base that was materialized some time ago, and
// the changes since. The changes of a state are sorted by composite key and merged with the base.
type changelog struct {
	log    *flink.Changelog
	states []*changedState // by id
	dir    string          // for sorting
	memory *spill.Memory
}

// changedState is one state's base and changes.
type changedState struct {
	name     string
	timers   bool
	logged   int             // its number in the log; -1: it did not change
	versions []*state.Schema // of its changes
	bases    []part          // in the order of their key groups
}

// openChangelog opens the base, and of the changes what describes states. A state is in one of the two or in both.
func (o *Operator) openChangelog(ctx context.Context, h *flink.ChangelogHandle) ([]part, error) {
	log, err := flink.OpenChangelog(ctx, h, o.snapshot.openFile, o.stateOptions(), o.MaxParallelism)
	if err != nil {
		return nil, err
	}
	bases, err := o.openBases(ctx, h)
	if err != nil {
		return nil, err
	}
	if key := knownKey(bases); key != nil {
		log.UseKey(key)
	}
	src := &changelog{log: log, dir: o.snapshot.options.TempDir, memory: o.snapshot.options.Memory}
	for i, l := range log.States() {
		s := src.state(l.Name, l.Versions[0].Kind == state.KindTimer)
		s.logged, s.versions = i, l.Versions
	}
	for _, b := range bases {
		s := src.state(b.schema.Name, b.schema.Kind == state.KindTimer)
		s.bases = append(s.bases, b)
	}
	var schemas []*state.Schema
	for _, s := range src.states {
		if err := s.settle(o.snapshot.Location); err != nil {
			return nil, err
		}
		schemas = append(schemas, s.schema())
	}
	return o.parts(schemas, h.Range, src), nil
}

// openBases opens what was materialized. A job that was restored twice with other parallelisms may name one handle several times.
func (o *Operator) openBases(ctx context.Context, h *flink.ChangelogHandle) ([]part, error) {
	var bases []part
	for i, m := range h.Materialized {
		if slices.ContainsFunc(h.Materialized[:i], func(e flink.KeyedHandle) bool { return reflect.DeepEqual(e, m) }) {
			continue
		}
		parts, err := o.openKeyed(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if p.groups = p.groups.Clip(KeyGroups(h.Range)); p.groups.First <= p.groups.Last {
				bases = append(bases, p)
			}
		}
	}
	return bases, nil
}

// state finds a state, or adds it.
func (c *changelog) state(name string, timers bool) *changedState {
	for _, s := range c.states {
		if s.name == name && s.timers == timers {
			return s
		}
	}
	s := &changedState{name: name, timers: timers, logged: -1}
	c.states = append(c.states, s)
	return s
}

// settle puts the bases in order. It refuses what could not be merged row by row: two bases of one key group, and keys of different forms.
func (s *changedState) settle(location string) error {
	slices.SortStableFunc(s.bases, func(a, b part) int { return cmp.Compare(a.groups.First, b.groups.First) })
	all := slices.Clone(s.versions)
	for i, b := range s.bases {
		if i > 0 && s.bases[i-1].groups.Overlaps(b.groups) {
			return fault.Unsupported(location, -1, "state %q: two materializations of key groups %s and %s", s.name, s.bases[i-1].groups, b.groups)
		}
		all = append(all, b.schema)
	}
	for _, v := range all[1:] {
		if v.Kind != all[0].Kind {
			return fault.Unsupported(location, -1, "state %q is %s in its base and %s in its changes", s.name, v.Kind, all[0].Kind)
		}
		if !sameForm(v.Namespace, all[0].Namespace) || !sameForm(v.MapKey, all[0].MapKey) {
			return fault.Unsupported(location, -1, "state %q: its namespaces or map keys are not serialized alike in its base and its changes", s.name)
		}
	}
	return nil
}

// sameForm says whether two serializers write a value alike, as far as that can be known.
func sameForm(a, b state.Codec) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.DeepEqual(a, b) || reflect.DeepEqual(a.Type(), b.Type())
}

// schema is the newest description, with what older ones have seen besides.
func (s *changedState) schema() *state.Schema {
	var all []*state.Schema
	for _, b := range s.bases {
		all = append(all, b.schema)
	}
	all = append(all, s.versions...)
	slices.Reverse(all)
	newest := all[0]
	for _, older := range all[1:] {
		newest = state.MergeSchemas(newest, older)
	}
	return newest
}

// knownKey is the serializer of keys, if one of the parts knows it.
func knownKey(parts []part) state.Codec {
	for _, p := range parts {
		if keyed(p.schema.Kind) && p.schema.Key != nil && p.schema.Key.Type().Kind != state.Raw {
			return p.schema.Key
		}
	}
	return nil
}

// shareKeys tells the changelogs that lack it how the operator's keys are serialized: all its subtasks do it alike.
func shareKeys(parts []part) {
	key := knownKey(parts)
	if key == nil {
		return
	}
	for _, p := range parts {
		c, ok := p.source.(*changelog)
		if ok && c.log.Key() == nil {
			c.log.UseKey(key)
		}
		if ok && p.schema.Kind != state.KindTimer {
			p.schema.Key = c.log.Key()
		}
	}
}

// withoutLoggedTimers leaves out the changes of timers that stand whole in raw keyed state.
func withoutLoggedTimers(parts, raw []part) []part {
	return slices.DeleteFunc(parts, func(p part) bool {
		_, logged := p.source.(*changelog)
		return logged && p.schema.Kind == state.KindTimer && slices.ContainsFunc(raw, func(r part) bool { return r.schema.Name == p.schema.Name })
	})
}

func (c *changelog) close() error { return nil } // files are open only while a cursor is; the base closes itself

func (c *changelog) size(*part) int64 { return -1 }

func (c *changelog) get(ctx context.Context, p *part, g int, key []byte) (value []byte, found bool, err error) {
	cur, err := c.cursor(ctx, p, KeyGroups{g, g}, key, append(slices.Clone(key), 0))
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, cur.Close()) }()
	if found = cur.Next(); !found {
		return nil, false, cur.Err()
	}
	if !sameValue(cur.Schema(), p.schema) {
		return nil, false, fault.Unsupported("", -1, "a row that was written with an older serializer cannot be looked up alone; export has it")
	}
	return slices.Clone(cur.Value()), true, nil
}

// sameValue says whether the values of two descriptions of a state are serialized alike.
func sameValue(a, b *state.Schema) bool { return a == b || sameForm(a.Value, b.Value) }
