package render

import (
	"bytes"
	"errors"
	"testing"
)

// TestEncodersGiveWhatWriteGives: rows that several encoders have prepared, in pieces of any size, print as if written one by one.
func TestEncodersGiveWhatWriteGives(t *testing.T) {
	for _, name := range Formats() {
		rows := rows
		if name == "parquet" {
			rows = rows[:5] // it refuses the surrogate of the next
		}
		want := render(t, Format(name), everyType, Options{}, rows)
		for _, piece := range []int{1, 2, len(rows)} {
			var out bytes.Buffer
			w, err := New(Format(name), &out, everyType, Options{})
			if err != nil {
				t.Fatal(err)
			}
			encoders := []Encoder{w.Encoder(), w.Encoder()}
			for i := 0; i < len(rows); i += piece {
				var encoded []byte
				for _, row := range rows[i:min(i+piece, len(rows))] {
					if encoded, err = encoders[i%2](encoded, []byte(row)); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.WriteEncoded(encoded); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if name != "parquet" && !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s in pieces of %d:\n%s\nwant\n%s", name, piece, out.Bytes(), want)
			}
			if name == "parquet" {
				_, a := readParquet(t, out.Bytes())
				if _, b := readParquet(t, want); len(a) != len(b) {
					t.Errorf("parquet: %d rows, %d wanted", len(a), len(b))
				}
			}
		}
	}
}

// TestEncoderRefuses: an encoder keeps what it had, and its fault is the one of Write.
func TestEncoderRefuses(t *testing.T) {
	for _, name := range Formats() {
		w, err := New(Format(name), &bytes.Buffer{}, everyType, Options{})
		if err != nil {
			t.Fatal(err)
		}
		encode := w.Encoder()
		whole, err := encode(nil, []byte(`{"bool":true}`))
		if err != nil {
			t.Fatal(err)
		}
		before := string(whole)
		if got, err := encode(whole, []byte(`{"bool":`)); !errors.Is(err, ErrMalformed) || string(got) != before {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
