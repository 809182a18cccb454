package state

import (
	"fmt"
	"slices"
	"strings"
)

// Path leads to a value of a row: key, namespace, map_key, value or ttl_ts, then member names separated by dots, as in
// value.address.city or key.f0.
type Path string

// The roots of paths.
const (
	pathKey       = "key"
	pathNamespace = "namespace"
	pathMapKey    = "map_key"
	pathValue     = "value"
	pathTTL       = "ttl_ts"
	memberClass   = "$class"
)

var (
	anyType   = &Type{Kind: Any, Nullable: true}
	int64Type = &Type{Kind: Int64}
)

func (p Path) split() (root string, names []string) {
	parts := strings.Split(string(p), ".")
	return parts[0], parts[1:]
}

// rootType gives the type of a root; nil where the state has no such part.
func (s *Schema) rootType(root string) *Type {
	codecType := func(c Codec) *Type {
		if c == nil {
			return nil
		}
		return c.Type()
	}
	switch root {
	case pathKey:
		return codecType(s.Key)
	case pathNamespace:
		if !s.void() {
			return codecType(s.Namespace)
		}
	case pathMapKey:
		return codecType(s.MapKey)
	case pathValue:
		if s.Kind == KindTimer {
			return int64Type
		}
		return s.valueType()
	case pathTTL:
		if s.TTL {
			return int64Type
		}
	}
	return nil
}

// valueType is the type of a row's value: of a list state the list.
func (s *Schema) valueType() *Type {
	t := s.Value.Type()
	if s.Kind != KindList {
		return t
	}
	return &Type{Kind: List, Elem: t, Class: t.Class, Why: t.Why}
}

// identity lists the roots whose values tell rows apart.
func (s *Schema) identity() []string {
	var roots []string
	for _, root := range []string{pathKey, pathNamespace, pathMapKey} {
		if s.rootType(root) != nil {
			roots = append(roots, root)
		}
	}
	if s.Kind == KindTimer {
		roots = append(roots, pathValue)
	}
	return roots
}

// members gives the types of t's members by name, in order of the names; none where a value of t has no fixed members.
func (t *Type) members() []Field {
	switch t.Kind {
	case Window:
		return []Field{{"end", int64Type}, {"start", int64Type}}
	case Tuple, Record:
		return t.Fields
	case Object:
		return t.union()
	}
	return nil
}

// union collects the fields of an object and of its subclasses; one that has several types becomes Any.
func (t *Type) union() []Field {
	all := map[string]*Type{}
	var add func(o *Type)
	add = func(o *Type) {
		for _, f := range o.Fields {
			if seen := all[f.Name]; seen != nil && seen.String() != f.Type.String() {
				all[f.Name] = anyType
				continue
			}
			all[f.Name] = f.Type
		}
		for _, sub := range o.Subclasses {
			add(sub)
		}
	}
	add(t)
	if len(t.Subclasses) > 0 {
		all[memberClass] = &Type{Kind: String, Nullable: true}
	}
	fields := make([]Field, 0, len(all))
	for name, typ := range all {
		fields = append(fields, Field{name, typ})
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// member gives the type of one member; an error names those there are.
func (t *Type) member(name string) (*Type, error) {
	switch t.Kind {
	case Any:
		return anyType, nil
	case Map:
		return t.Elem, nil
	case Either:
		if m := map[string]*Type{"left": t.Key, "right": t.Elem}[name]; m != nil {
			return m, nil
		}
	}
	var names []string
	for _, f := range t.members() {
		if f.Name == name {
			return f.Type, nil
		}
		names = append(names, f.Name)
	}
	if names == nil {
		return nil, fmt.Errorf("%s has no members", t)
	}
	return nil, fmt.Errorf("%s has no member %q (it has %s)", t.Kind, name, strings.Join(names, ", "))
}

// position is where a tuple holds the field of the given name; -1 for members that are found by name.
func (t *Type) position(name string) int {
	if t.Kind != Tuple {
		return -1
	}
	return slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
}

// opaque says whether some part of t is not decoded, so that a value may come out raw as a whole.
func (t *Type) opaque() bool {
	if t == nil {
		return false
	}
	if t.Kind == Raw || t.Key.opaque() || t.Elem.opaque() {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.opaque() }) ||
		slices.ContainsFunc(t.Subclasses, (*Type).opaque)
}

// ColumnType names the type of a column: bool, int8, int16, int32, int64, float32, float64, string, bytes, decimal, bigint, date,
// time, datetime, instant, uuid or json.
func (t *Type) ColumnType() string {
	switch t.Kind {
	case Bool, Int8, Int16, Int32, Int64, Float32, Float64, String, Bytes, Decimal, BigInt, Date, Time, DateTime, Instant, UUID:
		return t.Kind.String()
	case Char, Enum, GlobalWindow:
		return String.String()
	}
	return "json"
}
