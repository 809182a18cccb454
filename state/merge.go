package state

import (
	"reflect"
	"slices"
)

// MergeSchemas describes the rows of both schemas, which are one state as two subtasks saw it: the fields, subclasses and
// constants of either. The result is for columns and for people; each subtask's bytes are read with its own schema.
func MergeSchemas(a, b *Schema) *Schema {
	if a == b || reflect.DeepEqual(a, b) {
		return a
	}
	m := *a
	m.Value = mergeCodecs(a.Value, b.Value)
	m.MapKey = mergeCodecs(a.MapKey, b.MapKey)
	return &m
}

// typed is a codec with the type of more than its own snapshot.
type typed struct {
	Codec
	typ *Type
}

func (t typed) Type() *Type { return t.typ }

func mergeCodecs(a, b Codec) Codec {
	if a == nil || b == nil || reflect.DeepEqual(a.Type(), b.Type()) {
		return a
	}
	return typed{a, mergeTypes(a.Type(), b.Type())}
}

func mergeTypes(a, b *Type) *Type {
	if a == nil || b == nil || a.Kind != b.Kind || a.Class != b.Class {
		return a
	}
	m := *a
	m.Nullable = a.Nullable || b.Nullable
	m.Elem, m.Key = mergeTypes(a.Elem, b.Elem), mergeTypes(a.Key, b.Key)
	m.Fields = mergeFields(a.Fields, b.Fields)
	m.Subclasses = mergeSubclasses(a.Subclasses, b.Subclasses)
	m.Symbols = union(a.Symbols, b.Symbols)
	return &m
}

func mergeFields(a, b []Field) []Field {
	out := slices.Clone(a)
	for _, f := range b {
		if i := slices.IndexFunc(out, func(g Field) bool { return g.Name == f.Name }); i >= 0 {
			out[i].Type = mergeTypes(out[i].Type, f.Type)
			continue
		}
		out = append(out, f)
	}
	return out
}

func mergeSubclasses(a, b []*Type) []*Type {
	out := slices.Clone(a)
	for _, t := range b {
		if i := slices.IndexFunc(out, func(u *Type) bool { return u.Class == t.Class }); i >= 0 {
			out[i] = mergeTypes(out[i], t)
			continue
		}
		out = append(out, t)
	}
	return out
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
