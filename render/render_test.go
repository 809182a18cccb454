package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// everyType has a column of each type, named after it.
var everyType = func() (out []Column) {
	for _, name := range strings.Fields("bool int8 int16 int32 int64 float32 float64 string bytes decimal bigint date time datetime instant uuid json") {
		out = append(out, Column{Name: name, Type: name, Nullable: true})
	}
	return out
}()

// rows are hard to print: extremes, nulls, empty values, other orders and spellings of names, and text that breaks lines, fields and terminals.
var rows = []string{
	`{"bool":true,"int8":-128,"int16":-32768,"int32":-2147483648,"int64":-9223372036854775808,"float32":1.5,"float64":0.1,"string":"plain",` +
		`"bytes":"AQI=","decimal":"1.50","bigint":"123456789012345678901234567890","date":"2026-01-02","time":"15:04:05.000000001",` +
		`"datetime":"2026-01-02T15:04:05.5","instant":"2026-01-02T15:04:05Z","uuid":"00000000-0000-0001-0000-000000000002","json":{"a":[1,"x"],"b":null}}`,
	`{"bool":false,"int8":127,"int16":32767,"int32":2147483647,"int64":9223372036854775807,"float32":"NaN","float64":"-Infinity","string":"",` +
		`"bytes":"","decimal":"0E-10","bigint":"-1","date":"-0044-03-15","time":"00:00:00","datetime":"9999-12-31T23:59:59.999999",` +
		`"instant":"0001-01-01T00:00:00Z","json":[]}`,
	`{"json":"1","string":"a \"b\", c\r\nd\te\\","float64":-0.0,"float32":"Infinity"}`,
	`{"json":1,"string":"\u001b[2J\u0007 \ud83d\ude00 日本 e\u0301","date":"+12345-06-07"}`,
	`{ "string" : "null" , "js\u006fn" : "text" , "int8" : null }`,
	`{"string":" edges ","json":"\ud800"}`,
	`{"string":"lone \udfff","json":"[1"}`,
	`{"json":null}`,
	`{}`,
}

func render(t testing.TB, f Format, columns []Column, o Options, rows []string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := New(f, &out, columns, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.Write([]byte(row)); err != nil {
			t.Fatalf("%s: %s: %v", f, row, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	short := []Column{{Name: "key", Type: "string"}, {Name: "n", Type: "int64"}, {Name: "string", Type: "string"}, {Name: "json", Type: "json"}}
	long := []string{
		`{"key":"acct-1","n":5,"string":"` + strings.Repeat("a long text ", 30) + `","json":{"k":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}}`,
		`{"key":"日本日本日本日本日本日本日本日本日本日本","n":12345678901,"string":"` + strings.Repeat("日本", 40) + `"}`,
		`{"key":"","string":"\u202ertl\u0000","json":"x"}`,
	}
	for _, c := range []struct {
		file    string
		format  Format
		columns []Column
		options Options
		rows    []string
	}{
		{"every.jsonl", JSONL, nil, Options{}, rows},
		{"every.json", JSON, nil, Options{}, rows},
		{"every.csv", CSV, everyType, Options{}, rows},
		{"every.table", Table, everyType, Options{}, rows},
		{"file.table", Table, short, Options{Width: 60}, long},
		{"terminal.table", Table, short, Options{Terminal: true, Width: 60}, long},
		{"narrow.table", Table, short, Options{Terminal: true, Width: 10}, long},
		{"empty.jsonl", JSONL, nil, Options{}, nil},
		{"empty.json", JSON, nil, Options{}, nil},
		{"empty.csv", CSV, short, Options{}, nil},
		{"empty.table", Table, short, Options{}, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			golden(t, c.file, render(t, c.format, c.columns, c.options, c.rows))
		})
	}
}

func TestJSONIsAnArray(t *testing.T) {
	for _, rows := range [][]string{nil, rows[:1], rows} {
		var got []map[string]json.RawMessage
		if err := json.Unmarshal(render(t, JSON, nil, Options{}, rows), &got); err != nil || len(got) != len(rows) {
			t.Errorf("%d rows read back, %d written: %v", len(got), len(rows), err)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, name := range Formats() {
		if f, err := ParseFormat(name); err != nil || string(f) != name {
			t.Errorf("%s: %s, %v", name, f, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "jsonl, json, csv, parquet, table") {
		t.Errorf("the error does not list the formats: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	one := []Column{{Name: "a", Type: "int8"}}
	for want, give := range map[string]struct {
		format  Format
		columns []Column
		options Options
	}{
		"no columns":              {CSV, nil, Options{}},
		`column "a" stands twice`: {Parquet, []Column{one[0], one[0]}, Options{}},
		`no type "int7"`:          {Table, []Column{{Name: "a", Type: "int7"}}, Options{}},
		"not for a terminal":      {Parquet, one, Options{Terminal: true}},
		`no output format "xml"`:  {"xml", one, Options{}},
	} {
		if _, err := New(give.format, io.Discard, give.columns, give.options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want %s", err, want)
		}
	}
}

// malformed rows; the columns are those of everyType.
var malformedRows = []string{
	``, ` `, `{`, `}`, `[]`, `null`, `"x"`, `{"bool":true`, `{"bool":true,}`, `{"bool" true}`, `{"bool"}`, `{bool:true}`, `{"bool":}`, `{,}`,
	`{"bool":true}x`, `{"bool":true}{}`, `{"bool":true "int8":1}`, `{"bool":tru}`, `{"bool":nul}`, `{"int8":01}`, `{"int8":-}`, `{"int8":1.}`, `{"int8":1e}`,
	`{"int8":+1}`, `{"int8":.5}`, `{"string":"x}`, `{"string":"\x"}`, `{"string":"\u12"}`, `{"string":"\u12G4"}`, "{\"string\":\"a\nb\"}", "{\"string\":\"\xff\"}",
	`{"json":[}`, `{"json":[1,]}`, `{"json":{"a"}}`, `{"json":[1}`, `{"json":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
	`{"other":1}`, `{"bool":true,"bool":true}`, `{"bool":null,"bool":true}`, `{"string":"a","str\u0069ng":"b"}`,
}

func TestMalformedRows(t *testing.T) {
	for _, f := range []Format{CSV, Table, Parquet} {
		for _, row := range malformedRows {
			w, err := New(f, io.Discard, everyType, Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write([]byte(row))
			if err == nil { // Parquet may hold rows back
				err = w.Close()
			}
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %.60q: err = %v", f, row, err)
			}
			if again := w.Write([]byte(`{}`)); again == nil {
				t.Errorf("%s: %.60q: the error does not stick", f, row)
			}
			if w.Close() == nil {
				t.Errorf("%s: %.60q: closed without an error", f, row)
			}
		}
	}
	for _, f := range []Format{JSONL, JSON} {
		for _, row := range []string{``, `{`, `[]`, `null`, "{\"a\":\n1}"} {
			w, _ := New(f, io.Discard, nil, Options{})
			if err := w.Write([]byte(row)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %q: err = %v", f, row, err)
			}
		}
	}
}

type brokenPipe struct{ room int }

var errPipe = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if len(p) > b.room {
		return 0, errPipe
	}
	b.room -= len(p)
	return len(p), nil
}

func TestBrokenPipe(t *testing.T) {
	row := []byte(`{"string":"` + strings.Repeat("x", 100_000) + `"}`)
	for _, name := range Formats() {
		for _, room := range []int{0, 1000, 300_000} {
			w, err := New(Format(name), &brokenPipe{room}, everyType, Options{})
			for i := 0; i < 10 && err == nil; i++ {
				err = w.Write(row)
			}
			if w != nil {
				if closed := w.Close(); err == nil {
					err = closed
				}
			}
			if name == "parquet" && room == 300_000 { // compresses into that
				continue
			}
			if !errors.Is(err, errPipe) && (name != "parquet" || room == 0) {
				t.Errorf("%s, room for %d: err = %v", name, room, err)
			}
		}
	}
}

func TestClosed(t *testing.T) {
	for _, name := range Formats() {
		var out bytes.Buffer
		w, _ := New(Format(name), &out, everyType, Options{})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		n := out.Len()
		_ = w.Close()
		if err := w.Write([]byte(`{}`)); err == nil || out.Len() != n {
			t.Errorf("%s: written after Close: %v", name, err)
		}
	}
}

// A fault in row 3 does not hide rows 1 and 2, and leaves json without its closing bracket.
func TestRowsBeforeAFault(t *testing.T) {
	for name, want := range map[Format]string{
		JSONL: "{\"a\":1}\n{\"a\":2}\n",
		JSON:  "[\n{\"a\":1},\n{\"a\":2}",
		CSV:   "a\n1\n2\n",
		Table: "a\n-\n1\n2\n",
	} {
		var out bytes.Buffer
		w, _ := New(name, &out, []Column{{Name: "a", Type: "int8"}}, Options{})
		var errs []error
		for _, row := range []string{`{"a":1}`, `{"a":2}`, `{"a":`} {
			errs = append(errs, w.Write([]byte(row)))
		}
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], ErrMalformed) || !errors.Is(w.Close(), ErrMalformed) {
			t.Errorf("%s: %v", name, errs)
		}
		if out.String() != want {
			t.Errorf("%s: %q, want %q", name, out.String(), want)
		}
	}
}
