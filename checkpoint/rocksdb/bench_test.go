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

func BenchmarkFinder(b *testing.B) {
	f := fixtures(b, "eight-bench")[0]
	db := f.db(b, Options{})
	fam, _ := db.Family("value")
	finder := db.Finder(b.Context(), fam.Files)
	defer finder.Close()
	keys := f.scan["value"]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if h, err := finder.Lookup(keys[i%len(keys)].key); err != nil || len(h.Entries) != 1 {
			b.Fatal(h, err)
		}
	}
}
