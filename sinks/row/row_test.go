package row_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

func columns(names ...string) (found []stream.Column) {
	for _, n := range names {
		found = append(found, stream.Column{Name: n})
	}
	return found
}

func TestScan(t *testing.T) {
	s := row.NewScanner(columns("id", `we"ird`, "é<", "nested"))
	for object, want := range map[string][]string{
		`{"id":1,"we\"ird":"x","é<":null,"nested":{"a":["}",{"b":"\\\""}]}}`: {"1", `"x"`, "", `{"a":["}",{"b":"\\\""}]}`},
		`{"nested":[],"id":-1.5e+7}`:                                         {"-1.5e+7", "", "", "[]"},
		` { "id" : true , "\u00e9<" : "\"" } `[1:]:                           {"true", "", `"\""`, ""},
		`{}`:                         {"", "", "", ""},
		`{"id":"first","id":"last"}`: {`"last"`, "", "", ""},
		`{"id":12345678901234567890123456789012345678}`: {"12345678901234567890123456789012345678", "", "", ""},
	} {
		values, err := s.Scan([]byte(object))
		if err != nil {
			t.Errorf("%s: %v", object, err)
			continue
		}
		var got []string
		for _, v := range values {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
	for _, object := range []string{
		"", "{", "null", "[]", `{"id"`, `{"id":`, `{"id":1`, `{"id":1,`, `{"id":1,}`, `{"id":1}x`, `{"id":1}{}`, `{"id" 1}`, `{"id":"a}`, `{"id":[1}`, `{"nope":1}`,
		`{"id":nope}`, `{"id":}`, `{"id":+1}`, `{id:1}`, `{"id":1 "nested":2}`, `{"\ud800":1}`, `{"\x":1}`,
	} {
		if values, err := s.Scan([]byte(object)); err == nil {
			t.Errorf("%s: %q, want an error", object, values)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	s := row.NewScanner(columns("id", "name", "note"))
	object := []byte(`{"id":1,"name":"a \" b","note":[{"x":"y"}]}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Scan(object); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func TestAppendText(t *testing.T) {
	for value, want := range map[string]string{
		`"plain"`: "plain", `""`: "", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0000\u00e9\ud83d\ude00"`: "\x00é😀", `1.50`: "1.50", `{"a":1}`: `{"a":1}`,
	} {
		if got, err := row.AppendText([]byte(">"), []byte(value)); err != nil || string(got) != ">"+want {
			t.Errorf("%s = %q, %v", value, got, err)
		}
	}
	for _, value := range []string{`"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`} {
		if _, err := row.AppendText(nil, []byte(value)); !errors.Is(err, row.ErrSurrogate) {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, value := range []string{`"`, `"\"`, `"\u12"`, `"\u12x4"`, `"\q"`} {
		if got, err := row.AppendText(nil, []byte(value)); !errors.Is(err, row.ErrMalformed) {
			t.Errorf("%s: %q, %v", value, got, err)
		}
	}
}

// FuzzScan: whatever the standard library reads as an object of the columns is read alike; nothing panics.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":"x"}`, `{"b":{"a":[1,"}"]},"a":null}`, `{"a":"\ud83d\ude00\n"}`, `{"a":"\ud800"}`, `{ "a" : [ ] }`, `{"a":tru}`, `{"a":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		values, err := row.NewScanner(columns("a", "b")).Scan(object)
		var want map[string]json.RawMessage
		d := json.NewDecoder(bytes.NewReader(object))
		if !utf8.Valid(object) || !json.Valid(object) || d.Decode(&want) != nil || want == nil {
			return // what is no JSON may be refused or not
		}
		for name := range want {
			if name != "a" && name != "b" {
				return
			}
		}
		if errors.Is(err, row.ErrSurrogate) {
			return
		}
		if err != nil {
			if object[0] != '{' {
				return // space before the object is not ours
			}
			t.Fatalf("%q: %v", object, err)
		}
		for i, name := range []string{"a", "b"} {
			w := want[name]
			if string(w) == "null" {
				w = nil
			}
			if !bytes.Equal(values[i], w) {
				t.Fatalf("%q: column %s = %q, want %q", object, name, values[i], w)
			}
			if !row.IsString(values[i]) {
				continue
			}
			var text string
			if err := json.Unmarshal(values[i], &text); err != nil {
				t.Fatal(err)
			}
			if got, err := row.AppendText(nil, values[i]); err == nil && string(got) != text {
				t.Fatalf("%q = %q, want %q", values[i], got, text)
			}
		}
	})
}
