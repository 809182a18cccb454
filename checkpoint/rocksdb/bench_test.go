package rocksdb

import "testing"

func BenchmarkGet(b *testing.B) {
	f := fixtures(b, "eight-bench")[0]
	db := f.db(b, Options{})
	keys := f.scan["value"]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, found, err := db.Get(b.Context(), "value", keys[i*7919%len(keys)].key); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkFinder looks up 100 neighbouring keys at once.
func BenchmarkFinder(b *testing.B) {
	f := fixtures(b, "eight-bench")[0]
	db := f.db(b, Options{})
	fam, _ := db.Family("value")
	finder := db.Finder(b.Context(), fam.Files)
	defer finder.Close()
	var keys [][]byte
	for _, r := range f.scan["value"] {
		keys = append(keys, r.key)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := i * 100 % (len(keys) - 100)
		for _, h := range gathered(b, finder, keys[at:at+100]) {
			if len(h.Entries) != 1 {
				b.Fatal(h)
			}
		}
	}
}
