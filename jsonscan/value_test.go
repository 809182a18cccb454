package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestValueEnd(t *testing.T) {
	for text, want := range map[string]int{
		`5`: 1, `-1.5e+300,`: 9, `"a"`: 3, `"a\"b\\"]`: 8, `{"a":[1,"}"],"b":{}}x`: 20, `[]`: 2, `"abcdefghijklmnop\"qrstuvw"}`: 27, `null}`: 4,
		`{ "a" : [ 1 , true ] } `: 22, "\"abcdefg\u00e9\"": 11,
		``: -1, `"`: -1, `"\`: -1, `"abcdefgh`: -1, `[`: -1, `{"a":"}`: -1, `,`: -1, `[1}`: -1, `{"a":1]`: -1, `[1,]`: -1, `{"a":1,}`: -1, `{a:1}`: -1, `{"a" 1}`: -1,
		`nul`: -1, `+1`: -1, `01`: -1, `1.`: -1, `.5`: -1, `1e`: -1, `1e+`: -1, `"\x"`: -1, `"\u12x4"`: -1, "\"abcdefghijk\x1flmn\"": -1, "\"\n\"": -1,
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000): 20000,
		strings.Repeat("[", 10001) + strings.Repeat("]", 10001): -1,
	} {
		got, err := ValueEnd([]byte(text), 0)
		if err != nil {
			got = -1
			if !errors.Is(err, ErrSyntax) {
				t.Errorf("%.40s: %v is no ErrSyntax", text, err)
			}
		}
		if got != want {
			t.Errorf("%.40s: %d, want %d (%v)", text, got, want, err)
		}
	}
}

// FuzzValueEnd: what is taken is what encoding/json takes.
func FuzzValueEnd(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":"x"}`, `{"b":{"a":[1,"}"]},"a":null}`, `{"a":"\ud83d\ude00\n"}`, `{ "a" : [ ] } `, `{"a":tru}`, `{"a":1}}`, `[-0.5E-7, 10]`,
		"\"abcdefgh\x1f\"", `"abcdefghi\"jklmnopq\\"`, "\"\xff\x80\"", strings.Repeat("[", 300),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		end, err := ValueEnd(b, Space(b, 0))
		whole := err == nil && Space(b, end) == len(b)
		if whole != json.Valid(b) {
			t.Fatalf("%q: ends at %d, %v; encoding/json says %v", b, end, err, !whole)
		}
		if err != nil && !errors.Is(err, ErrSyntax) {
			t.Fatal(err)
		}
	})
}
