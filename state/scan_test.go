package state

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestScan(t *testing.T) {
	for text, want := range map[string]int{
		`5`: 1, `-1.5e+300,`: 9, `"a"`: 3, `"a\"b\\"]`: 8, `{"a":[1,"}"],"b":{}}x`: 20, `[]`: 2, `"abcdefghijklmnop\"qrstuvw"}`: 27, `null}`: 4,
		``: -1, `"`: -1, `"\`: -1, `"abcdefgh`: -1, `[`: -1, `{"a":"}`: -1, `,`: -1,
	} {
		got, err := skipValue([]byte(text), 0)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestMembers finds in any object what encoding/json put there.
func TestMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "members")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		m := membersOf(text)
		for m.step() {
			name, err := unquote(m.name)
			if err != nil {
				t.Fatal(err)
			}
			value, err := unquote(m.value)
			if err != nil {
				t.Fatal(err)
			}
			got[string(name)] = string(value)
		}
		if m.err != nil || len(got) != len(want) {
			t.Fatalf("%d members of %s, %v", len(got), text, m.err)
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q: %q, want %q", k, got[k], v)
			}
		}
	})
}
