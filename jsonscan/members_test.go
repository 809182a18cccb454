package jsonscan

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestMembers finds in any object what encoding/json put there.
func TestMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "members")
		text, err := json.MarshalIndent(want, " ", rapid.SampledFrom([]string{"", "\t", "  "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		m := MembersOf(text)
		for m.Next() {
			name, _ := AppendText(nil, m.Name)
			value, _ := AppendText(nil, m.Value)
			if got[string(name)] = string(value); m.Index != len(got)-1 || string(text[m.End-len(m.Value):m.End]) != string(m.Value) {
				t.Fatalf("member %d of %s ends at %d", m.Index, text, m.End)
			}
		}
		if m.Err() != nil || len(got) != len(want) {
			t.Fatalf("%d members of %s, %v", len(got), text, m.Err())
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q: %q, want %q", k, got[k], v)
			}
		}
	})
}

// FuzzMembers: a walk to the end is over an object or array that encoding/json takes, and visits each of its members.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":"x"}`, `[1,[2,3],"]"]`, `{}`, ` [ ] `, `[1,]`, `[,1]`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a" :1}x`, `5`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, n := MembersOf(b), 0
		for m.Next() {
			n++
		}
		if m.Next() {
			t.Fatalf("%q goes on after its end", b)
		}
		var elements []json.RawMessage
		isArray := json.Unmarshal(b, &elements) == nil && elements != nil
		object := map[string]json.RawMessage{}
		isObject := json.Unmarshal(b, &object) == nil && object != nil
		switch err := m.Err(); {
		case err != nil && !errors.Is(err, ErrSyntax):
			t.Fatal(err)
		case (err == nil) != (isArray || isObject):
			t.Fatalf("%q: %v, encoding/json: array %v, object %v", b, err, isArray, isObject)
		case isArray && n != len(elements), isObject && n < len(object):
			t.Fatalf("%q: %d members", b, n)
		}
	})
}
