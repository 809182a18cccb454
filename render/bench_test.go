package render

import (
	"io"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	columns := []Column{{Name: "key", Type: "string"}, {Name: "balance", Type: "decimal"}, {Name: "n", Type: "int64"}, {Name: "at", Type: "instant"}, {Name: "tags", Type: "json"}}
	row := []byte(`{"key":"account-000001","balance":"1234.50","n":123456789,"at":"2026-01-02T15:04:05.123Z","tags":["a","b",{"c":1}]}`)
	for _, name := range Formats() {
		b.Run(name, func(b *testing.B) {
			w, err := New(Format(name), io.Discard, columns, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(row)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(row); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
