package state

import (
	"strings"
	"testing"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// TestNamedRows gives names to the rows of real SQL joins: of a value, and of a map key.
func TestNamedRows(t *testing.T) {
	var name string
	rows := 0
	eachStream(t, "sql-join-left-2.3", func(head fixtureLine, entries []fixtureLine) {
		read := func(names map[string][]string) (*KeyedMeta, error) {
			r := javaio.NewReader("fixture", 0, head.Meta)
			return ReadKeyedMeta(r, Options{Kryo5: head.Kryo5, Names: names}), r.Err()
		}
		plain, _ := read(nil)
		for _, s := range plain.States {
			if s.Value == nil || s.Value.Type().Kind != Tuple {
				continue
			}
			n := len(s.Value.Type().Fields)
			name = s.Name
			for wrong := range map[int]bool{n - 1: true, n + 1: true} {
				if _, err := read(map[string][]string{name: letters(wrong)}); err == nil || !strings.Contains(err.Error(), "names for a row of") {
					t.Errorf("%d names for %d fields: %v", wrong, n, err)
				}
			}
			named, err := read(map[string][]string{name: letters(n)})
			if err != nil {
				t.Fatal(err)
			}
			rows += sameRows(t, s, named.state(name), head.Max, entries)
		}
	})
	if rows == 0 {
		t.Error("no rows")
	}
}

// letters gives n names in an order that is not theirs.
func letters(n int) (names []string) {
	for i := range n {
		names = append(names, string(rune('z'-i)))
	}
	return names
}

// sameRows compares the elements of each array with the members of the object.
func sameRows(t *testing.T, plain, named *Schema, groups int, entries []fixtureLine) (n int) {
	t.Helper()
	plain.MaxParallelism, named.MaxParallelism = groups, groups
	var a, b Row
	for _, e := range entries {
		if e.State != plain.Name {
			continue
		}
		if err := plain.DecodeValue(&a, e.Value); err != nil {
			t.Fatal(err)
		}
		if err := named.DecodeValue(&b, e.Value); err != nil {
			t.Fatal(err)
		}
		fields, members := map[string]string{}, map[string]string{}
		m := jsonscan.MembersOf(a.Value)
		for i := 0; m.Next(); i++ {
			fields[`"`+string(rune('z'-i))+`"`] = string(m.Value)
		}
		last := ""
		for m = jsonscan.MembersOf(b.Value); m.Next(); last = string(m.Name) {
			if members[string(m.Name)] = string(m.Value); string(m.Name) < last {
				t.Errorf("members are not in order: %s", b.Value)
			}
		}
		if len(fields) != len(members) {
			t.Errorf("%s, %s", a.Value, b.Value)
		}
		for name, v := range fields {
			if members[name] != v {
				t.Errorf("%s is %s, want %s", name, members[name], v)
			}
		}
		n++
	}
	for _, c := range DefaultColumns(named) {
		if c.Name == "value" || strings.HasPrefix(c.Name, "f") {
			t.Errorf("column %s of a row with names", c.Name)
		}
	}
	return n
}

func TestNamesAreChecked(t *testing.T) {
	for want, c := range map[string]struct {
		codec Codec
		names string
	}{
		"2 names for a int32":    {int32Codec, "a,b"},
		"3 names for a row of 2": {newTuple([]Codec{int32Codec, int32Codec}), "a,b,c"},
		"empty, taken":           {newTuple([]Codec{int32Codec, int32Codec}), "a,a"},
		"has a dot":              {newTuple([]Codec{int32Codec}), "a.b"},
	} {
		if _, err := nameFields(c.codec, strings.Split(c.names, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", c.names, err, want)
		}
	}
}
