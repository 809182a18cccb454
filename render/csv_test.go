package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"testing"
)

// A second reader agrees on the fields, and quotes tell the empty string from null.
func TestCSVReadsBack(t *testing.T) {
	names := []string{"plain", "with,comma", `with"quote`, "", "with\nbreak", " edge"}
	var columns []Column
	for _, n := range names {
		columns = append(columns, Column{Name: n, Type: "string"})
	}
	texts := []string{"a", "", ",", `"`, `""`, "\r\n", "\r", "a\nb", " a", "a ", "\t", `\.`, "é", "a,b\"c\"", "#x", "null", "="}
	var in []string
	for i := range texts {
		row := map[string]string{}
		for j, n := range names {
			row[n] = texts[(i+j)%len(texts)]
		}
		b, _ := json.Marshal(row)
		in = append(in, string(b))
	}
	got, err := csv.NewReader(bytes.NewReader(bytes.ReplaceAll(render(t, CSV, columns, Options{}, in), []byte("\r\n"), []byte("<crlf>")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0], names) {
		t.Errorf("header %q", got[0])
	}
	for i, record := range got[1:] {
		for j, field := range record {
			want := texts[(i+j)%len(texts)]
			if want == "\r\n" { // encoding/csv reads a line break inside quotes as \n
				want = "<crlf>"
			}
			if field != want {
				t.Errorf("%q, want %q", field, want)
			}
		}
	}
	out := render(t, CSV, []Column{{Name: "a", Type: "string"}, {Name: "b", Type: "string"}}, Options{}, []string{`{"a":"","b":null}`})
	if string(out) != "a,b\n\"\",\n" {
		t.Errorf("%q", out)
	}
}

// In a json column each two values that differ print differently.
func TestCSVKeepsJSONApart(t *testing.T) {
	seen := map[string]string{}
	for _, v := range []string{`1`, `"1"`, `"\"1\""`, `null`, `"null"`, `""`, `"\"\""`, `[1]`, `"[1]"`, `true`, `"true"`, `"[1"`, `" 1"`, `"1 "`, `"NaN"`, `"a"`, `"\"a\""`, `"\ud800"`, `"\\ud800"`, `"\"\\ud800\""`, `{}`, `"{}"`, `-0.0`, `"-0.0"`} {
		out := string(render(t, CSV, []Column{{Name: "v", Type: "json"}}, Options{}, []string{`{"v":` + v + `}`}))
		if other, ok := seen[out]; ok {
			t.Errorf("%s and %s both print %q", v, other, out)
		}
		seen[out] = v
	}
}
