package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

const line = `{"op":"u","key":{"id":1},"before":null,"after":{"a":"}\"\\","b":[{"c":[]}]},"source":{"name":"b","partition":3,"seq":12},"ts_ms":1}`

func TestParseLine(t *testing.T) {
	for text, wrong := range map[string]string{
		line: "",
		` { "source" : { "seq" : 12 , "x" : {} } , "new" : [ 1 , "]" ] , "op" : "u", "after" : {"a":"}\"\\","b":[{"c":[]}]}, "key" : {"id":1}, "before":null } `: "",
		``:                                "an object or array wanted",
		`null`:                            "an object or array wanted",
		`{}`:                              "no change",
		`{"op":"u"}`:                      "no change",
		`{"op":"u","source":{"seq":0}}`:   "no change",
		`{"op":"u","source":{"seq":-1}}`:  "a number of 1 to 19 digits wanted",
		`{"op":"u","source":{"seq":1e3}}`: "a number of 1 to 19 digits wanted",
		`{"op":"u","source":7}`:           "an object or array wanted",
		`{"op":"u","source":{"seq":99999999999999999999}}`: "1 to 19 digits",
		line + `x`:                        "bytes follow the value",
		line[:len(line)-1]:                "no comma",
		line[:40]:                         "does not end",
		`{"op`:                            "a string does not end",
		`{"op":"u","key":[1]}`:            "an object or null wanted",
		`{"op":"u","key":,"before":null}`: "no value",
		`{"op":"u" "key":null}`:           "no comma",
		`{"op":"u",}`:                     "a member's name is missing",
	} {
		p, err := parseLine([]byte(text))
		if wrong != "" {
			wantError(t, err, fault.ErrCorrupt, wrong)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if p.Op != 'u' || p.Seq != 12 || string(p.Key) != `{"id":1}` || p.Before != nil || string(p.After) != `{"a":"}\"\\","b":[{"c":[]}]}` {
			t.Fatalf("%s: %s", text, show(p.Change))
		}
	}
}

// What parseLine makes of a line must be what encoding/json makes of it, whenever that takes it.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte(`{"op":"d","object":{"bucket":"b","name":"n","size":3},"source":{"seq":1}}`))
	f.Add([]byte(`{"op":"r","key":{"\\":"\\\\"},"source":{"seq":18446744073709551615}}`))
	f.Add([]byte(strings.Repeat("[", 1000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseLine(b)
		if err != nil {
			if !errors.Is(err, fault.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		var want struct{ Key, Before, After json.RawMessage }
		d := json.NewDecoder(bytes.NewReader(b))
		if d.Decode(&want) != nil || ambiguous(b) {
			return
		}
		for _, m := range []struct {
			got  []byte
			want json.RawMessage
		}{{p.Key, want.Key}, {p.Before, want.Before}, {p.After, want.After}} {
			if m.got != nil && !bytes.Equal(m.got, m.want) || m.got == nil && len(m.want) > 0 && string(m.want) != "null" {
				t.Fatalf("%s: got %s, want %s", b, m.got, m.want)
			}
		}
	})
}

// ambiguous lines have names that encoding/json folds, unescapes or sees twice; nobody writes them.
func ambiguous(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	seen := map[string]bool{}
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return false
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			name := strings.ToLower(v)
			if depth == 1 && seen[name] || name != v || bytes.ContainsRune(b, '\\') {
				return true
			}
			seen[name] = depth == 1
		}
	}
}
