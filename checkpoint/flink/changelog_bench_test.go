package flink

import (
	"fmt"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/fixture"
)

// BenchmarkChanges reads the changes of one state of two.
func BenchmarkChanges(b *testing.B) {
	var log fixture.Log
	log.Meta(0, timerState)
	log.Meta(1, valueState)
	log.Meta(2, mapState)
	for i := range 50_000 {
		key := fmt.Sprintf("customer-%d", i/3)
		log.Add(groupOf(key), 1, fixture.OpSet, fstr(key), void, num(int64(i)))
		log.Add(groupOf(key), 2, fixture.OpAddElement, fstr(key), void, fstr("k"), fstr("v"))
	}
	set := log.Set()
	for _, compress := range []bool{false, true} {
		b.Run(fmt.Sprintf("compressed=%t", compress), func(b *testing.B) {
			l, err := openLog(filesHandle(b, compress, set))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(set)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range l.Changes(b.Context(), 1, allGroups) {
					if n++; err != nil {
						b.Fatal(err)
					}
				}
				if n != 50_000 {
					b.Fatal(n)
				}
			}
		})
	}
}
