package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Column is a column of a table that mirrors a state.
type Column struct {
	Name string
	Path Path
	Type *Type
	Key  bool // part of the row's identity

	whole     bool  // one of those that show all members of the value: none may be left out
	positions []int // of each name in Path, where a row or tuple holds it; else -1
	again     Path  // where the same stands once more
	from      *Type // of the value that the column shows as text; nil where it shows the value itself
}

// Mapping names a column and the path that it shows.
type Mapping struct {
	Name string
	Path Path
	Text bool // as a string, whatever type the value has
}

// DefaultColumns gives the columns of a state when the user names none: key, or its members as key_<name>; namespace;
// map_key; and value, or the members of an object under their own names. A member whose name is taken gets the prefix
// value_. Where the value is the whole row, its members are the columns.
func DefaultColumns(s *Schema) []Column {
	if s.KeyInValue && !dotted(s.Value.Type()) {
		return s.rowColumns()
	}
	var columns []Column
	taken := map[string]bool{}
	add := func(c Column) {
		for taken[c.Name] {
			c.Name = "value_" + c.Name
		}
		taken[c.Name] = true
		columns = append(columns, c)
	}
	for _, root := range s.identity() {
		t := s.rootType(root)
		fields := t.members()
		if root == pathMapKey && hasNames(s.MapKey) {
			for _, f := range t.Fields { // in the order of the row
				add(Column{Name: f.Name, Path: Path(root + "." + f.Name), Type: f.Type, Key: true})
			}
			continue
		}
		if root != pathKey || t.opaque() || len(fields) == 0 || dotted(t) {
			add(Column{Name: root, Path: Path(root), Type: t, Key: true})
			continue
		}
		for _, f := range fields {
			add(Column{Name: "key_" + f.Name, Path: Path("key." + f.Name), Type: f.Type, Key: true, positions: []int{t.position(f.Name)}})
		}
	}
	if s.Kind == KindTimer {
		return columns
	}
	s.addValue(add)
	return columns
}

// rowColumns gives the members of the value, in their order. Those of the key are taken from the key, as a deleted row has nothing else.
func (s *Schema) rowColumns() []Column {
	var columns []Column
	key := s.Key.Type()
	for _, f := range s.Value.Type().Fields {
		c := Column{Name: f.Name, Path: Path("value." + f.Name), Type: f.Type, whole: true}
		if i := key.position(f.Name); i >= 0 {
			c = Column{Name: f.Name, Path: Path("key." + f.Name), Type: key.Fields[i].Type, Key: true, positions: []int{i}, again: c.Path}
		}
		columns = append(columns, c)
	}
	return columns
}

// dotted says whether a member has a name that no path can have.
func dotted(t *Type) bool {
	return slices.ContainsFunc(t.members(), func(f Field) bool { return strings.Contains(f.Name, ".") })
}

func (s *Schema) addValue(add func(Column)) {
	t := s.valueType()
	if t.Kind != Object && t.Kind != Record || t.opaque() && !hasNames(s.Value) || dotted(t) {
		add(Column{Name: pathValue, Path: pathValue, Type: t})
		return
	}
	for _, f := range t.members() {
		add(Column{Name: f.Name, Path: Path("value." + f.Name), Type: f.Type, whole: true})
	}
}

// ParseColumns gives the columns that the user named, in that order. It refuses columns that do not tell every two rows
// apart, and lists all faults at once.
func ParseColumns(s *Schema, mappings []Mapping) ([]Column, error) {
	var columns []Column
	var faults []error
	seen := map[string]bool{}
	for _, m := range mappings {
		switch {
		case m.Name == "":
			faults = append(faults, fmt.Errorf("path %q has no column name", m.Path))
			continue
		case seen[m.Name]:
			faults = append(faults, fmt.Errorf("column %q is named twice", m.Name))
			continue
		}
		seen[m.Name] = true
		t, positions, err := s.resolve(m.Path)
		if err != nil {
			faults = append(faults, fmt.Errorf("column %q: path %q: %w", m.Name, m.Path, err))
			continue
		}
		root, _ := m.Path.split()
		c := Column{Name: m.Name, Path: m.Path, Type: t, Key: slices.Contains(s.identity(), root), positions: positions}
		if m.Text {
			c.Type, c.from = &Type{Kind: String}, t
		}
		columns = append(columns, c)
	}
	if faults == nil {
		faults = s.uncovered(columns)
	}
	return columns, errors.Join(faults...)
}

// resolve gives the type at the end of a path, and where each name stands in the tuple that holds it.
func (s *Schema) resolve(p Path) (t *Type, positions []int, err error) {
	root, names := p.split()
	if t = s.rootType(root); t == nil {
		return nil, nil, fmt.Errorf("the state has no %q (it has %s)", root, strings.Join(s.roots(), ", "))
	}
	for _, name := range names {
		positions = append(positions, t.position(name))
		if t, err = t.member(name); err != nil {
			return nil, nil, err
		}
	}
	return t, positions, nil
}

func (s *Schema) roots() []string {
	return slices.DeleteFunc([]string{pathKey, pathNamespace, pathMapKey, pathValue, pathTTL}, func(root string) bool {
		return s.rootType(root) == nil
	})
}

// uncovered names each part of a row's identity that the columns leave out.
func (s *Schema) uncovered(columns []Column) []error {
	var faults []error
	for _, root := range s.identity() {
		for _, p := range missingPaths(Path(root), s.rootType(root), columns) {
			faults = append(faults, fmt.Errorf("no column shows %q, without which rows cannot be told apart", p))
		}
	}
	return faults
}

// missingPaths gives the parts of p that no column has: p itself, or some of its members when others are there.
func missingPaths(p Path, t *Type, columns []Column) []Path {
	some := false
	for _, c := range columns {
		if c.Path == p {
			return nil
		}
		some = some || strings.HasPrefix(string(c.Path), string(p)+".")
	}
	fields := t.members()
	if !some || len(fields) == 0 {
		return []Path{p}
	}
	var missing []Path
	for _, f := range fields {
		missing = append(missing, missingPaths(p+"."+Path(f.Name), f.Type, columns)...)
	}
	return missing
}
