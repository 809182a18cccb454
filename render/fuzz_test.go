package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/statebridge/statebridge/jsonscan"
)

// Any bytes as a row: no panic, no third kind of error, and the scanner takes what encoding/json takes.
func FuzzWrite(f *testing.F) {
	for _, row := range append(rows, malformedRows[:len(malformedRows)-5]...) {
		f.Add([]byte(row))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		for _, name := range Formats() {
			w, err := New(Format(name), io.Discard, everyType, Options{Width: 40})
			if err != nil {
				t.Fatal(err)
			}
			if err = w.Write(row); err == nil {
				err = w.Close()
			}
			if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnfit) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		compareScan(t, row)
	})
}

func compareScan(t *testing.T, row []byte) {
	got, err := newScanner(everyType).scan(row)
	var want map[string]json.RawMessage
	if decoded := json.Unmarshal(row, &want); err == nil && decoded != nil {
		t.Fatalf("scanned %q, which is no JSON object: %v", row, decoded)
	} else if decoded != nil || want == nil {
		return
	}
	if err != nil {
		if allColumns(want) && !hasTwice(row, len(want)) && utf8.Valid(row) {
			t.Fatalf("not scanned: %q: %v", row, err)
		}
		return
	}
	for i, c := range everyType {
		w := want[c.Name]
		if string(w) == "null" {
			w = nil
		}
		if !bytes.Equal(w, got[i]) {
			t.Fatalf("column %s: %q, want %q", c.Name, got[i], w)
		}
	}
}

func allColumns(row map[string]json.RawMessage) bool {
	n := 0
	for _, c := range everyType {
		if _, ok := row[c.Name]; ok {
			n++
		}
	}
	return n == len(row)
}

// hasTwice counts members of the object itself.
func hasTwice(row []byte, members int) bool {
	d := json.NewDecoder(bytes.NewReader(row))
	depth, tokens := 0, 0
	for {
		token, err := d.Token()
		if err != nil {
			return tokens != 2*members
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth == 2 {
				tokens++
			}
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			continue
		}
		if depth == 1 {
			tokens++
		}
	}
}

// Any text as a cell: CSV gives it back to another reader, Parquet to its own, and a table stays one line a row without control characters.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", `"`, ",", "\r\n", "\x1b[31m", "\u202e", "日本", "e\u0301", "\ufeff", "\u0085", "\x7f"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if !utf8.ValidString(s) {
			return
		}
		columns := []Column{{Name: "a", Type: "string"}, {Name: "b", Type: "string"}}
		quoted := jsonscan.AppendQuoted(nil, s)
		row := `{"a":` + string(quoted) + `,"b":"x"}`
		records, err := csv.NewReader(bytes.NewReader(render(t, CSV, columns, Options{}, []string{row}))).ReadAll()
		if want := string(bytes.ReplaceAll([]byte(s), []byte("\r\n"), []byte("\n"))); err != nil || records[1][0] != want {
			t.Fatalf("csv: %q, %v", records, err)
		}
		if _, got := readParquet(t, render(t, Parquet, columns, Options{}, []string{row})); string(got[0][0].ByteArray()) != s {
			t.Fatalf("parquet: %q", got[0][0])
		}
		out := render(t, Table, columns, Options{Terminal: true, Width: width % 200}, []string{row})
		if bytes.Count(out, []byte("\n")) != 3 {
			t.Fatalf("table: %q", out)
		}
		for _, r := range string(out) {
			if r < ' ' && r != '\n' || r >= 0x7F && r < 0xA0 || r == '\u202e' {
				t.Fatalf("table: %q", out)
			}
		}
	})
}
