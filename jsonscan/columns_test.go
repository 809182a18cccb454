package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	s := NewColumns([]string{"id", `we"ird`, "é<", "nested"})
	for object, want := range map[string][]string{
		`{"id":1,"we\"ird":"x","é<":null,"nested":{"a":["}",{"b":"\\\""}]}}`: {"1", `"x"`, "", `{"a":["}",{"b":"\\\""}]}`},
		`{"nested":[],"id":-1.5e+7}`:                                         {"-1.5e+7", "", "", "[]"},
		` { "id" : true , "\u00e9<" : "\"" } `[1:]:                           {"true", "", `"\""`, ""},
		`{}`: {"", "", "", ""},
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
		`{"id":nope}`, `{"id":}`, `{"id":+1}`, `{id:1}`, `{"id":1 "nested":2}`, `{"\ud800":1}`, `{"\x":1}`, `{"id":1,"id":1}`, `{"id":null,"id":1}`,
	} {
		if values, err := s.Scan([]byte(object)); err == nil {
			t.Errorf("%s: %q, want an error", object, values)
		}
	}
}

func TestColumnsAllocateNothing(t *testing.T) {
	s := NewColumns([]string{"id", "name", "note"})
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
	for value, want := range map[string]string{`"plain"`: "plain", `""`: "", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0000\u00e9\ud83d\ude00"`: "\x00é😀"} {
		if got, exact := AppendText([]byte(">"), []byte(value)); !exact || string(got) != ">"+want || HasLoneSurrogate([]byte(value)) {
			t.Errorf("%s = %q, %v", value, got, exact)
		}
	}
	for _, value := range []string{`"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\u0041"`} {
		if got, exact := AppendText(nil, []byte(value)); exact || !bytes.HasPrefix(got, []byte(`\ud`)) || !HasLoneSurrogate([]byte(value)) {
			t.Errorf("%s = %q, %v", value, got, exact)
		}
	}
}

// FuzzColumns: whatever encoding/json reads as an object of the columns is read alike; nothing else is taken.
func FuzzColumns(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":"x"}`, `{"b":{"a":[1,"}"]},"a":null}`, `{"a":"\ud83d\ude00\n"}`, `{"a":"\ud800"}`, `{ "a" : [ ] }`, `{"a":tru}`, `{"a":1}}`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		values, err := NewColumns([]string{"a", "b"}).Scan(object)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatal(err)
			}
			if m := MembersOf(object); isObject(object) && onlyColumns(&m) {
				t.Fatalf("%q: %v", object, err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(object, &want); err != nil || want == nil {
			t.Fatalf("%q is no object: %v", object, err)
		}
		for i, name := range []string{"a", "b"} {
			if w := want[name]; string(w) != "null" && !bytes.Equal(values[i], w) || string(w) == "null" && values[i] != nil {
				t.Fatalf("%q: column %s = %q, want %q", object, name, values[i], w)
			}
		}
	})
}

func isObject(b []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(b, &object) == nil && object != nil
}

// onlyColumns says whether the members are a and b, each once at most.
func onlyColumns(m *Members) bool {
	seen := map[string]bool{}
	for m.Next() {
		text, _ := AppendText(nil, m.Name)
		name := string(text)
		if name != "a" && name != "b" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return m.Err() == nil
}

func BenchmarkColumns(b *testing.B) {
	c := NewColumns([]string{"key", "balance", "n", "at", "tags"})
	row := []byte(`{"key":"account-000001","balance":"1234.50","n":123456789,"at":"2026-01-02T15:04:05.123Z","tags":["a","b",{"c":1}]}`)
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Scan(row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	row := []byte(`{"key":"account-000001","balance":"1234.50","n":123456789,"at":"2026-01-02T15:04:05.123Z","tags":["a","b",{"c":1}]}`)
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		m := MembersOf(row)
		for m.Next() {
		}
		if m.Err() != nil {
			b.Fatal(m.Err())
		}
	}
}
