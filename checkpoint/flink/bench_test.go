package flink

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkEntries reads a key group of many keys.
func BenchmarkEntries(b *testing.B) {
	const keys = 20_000
	heap, canonical := newStream(b, "heap-1.20"), newStream(b, "canonical-rocksdb-1.20")
	heap.heapGroup("purchases", keys, func(w *writer) {
		for i := range keys {
			w.u8(0).text(fmt.Sprintf("customer-%08d", i)).i32(2).text("one").u8(0).i64(1).text("two").u8(0).i64(2)
		}
	})
	var pairs []string
	for i := range 2 * keys {
		pairs = append(pairs, fmt.Sprintf("\x00customer-%08d", i), "12345678")
	}
	canonical.canonicalGroup("purchases", pairs...)
	for name, s := range map[string]*stream{"heap": heap, "canonical": canonical} {
		b.Run(name, func(b *testing.B) {
			k := s.open(b)
			defer k.Close()
			b.ReportAllocs()
			b.SetBytes(int64(len(s.writer)))
			for b.Loop() {
				n := 0
				for _, err := range k.Entries(context.Background(), s.id["purchases"], 0) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 2*keys {
					b.Fatalf("%d entries", n)
				}
			}
		})
	}
}
