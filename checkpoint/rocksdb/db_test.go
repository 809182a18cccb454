package rocksdb

import (
	"bytes"
	"testing"
)

func TestScanEqualsRocksDB(t *testing.T) {
	for _, f := range fixtures(t, "*") {
		t.Run(f.name, func(t *testing.T) {
			db := f.db(t, Options{})
			total := 0
			for _, fam := range db.Families() {
				got, err := rows(t.Context(), db, fam.Name, nil, nil)
				if err != nil {
					t.Fatalf("%s: %v", fam.Name, err)
				}
				if d := difference(got, f.scan[fam.Name]); d != "" {
					t.Errorf("%s: %s", fam.Name, d)
				}
				total += len(got)
			}
			if total == 0 {
				t.Error("no rows at all")
			}
		})
	}
}

func TestGetEqualsRocksDB(t *testing.T) {
	for _, f := range fixtures(t, "*") {
		t.Run(f.name, func(t *testing.T) {
			db := f.db(t, Options{})
			for _, fam := range db.Families() {
				for _, key := range probes(f) {
					value, found, err := db.Get(t.Context(), fam.Name, key)
					if err != nil {
						t.Fatalf("%s: %x: %v", fam.Name, key, err)
					}
					want, present := f.lookup(fam.Name, key)
					if found != present || !bytes.Equal(value, want) {
						t.Fatalf("%s: %x = %x, %v; want %x, %v", fam.Name, key, value, found, want, present)
					}
				}
			}
		})
	}
}

// probes gives every key of any family, and neighbours that are mostly absent.
func probes(f *fixture) [][]byte {
	keys := [][]byte{{}, {0xff}}
	for _, list := range f.scan {
		for i, r := range list {
			keys = append(keys, r.key)
			if i%3 == 0 {
				keys = append(keys, append(bytes.Clone(r.key), 0), r.key[:len(r.key)-1])
			}
		}
	}
	return keys
}

func (f *fixture) lookup(family string, key []byte) ([]byte, bool) {
	for _, r := range f.scan[family] {
		if bytes.Equal(r.key, key) {
			return r.value, true
		}
	}
	return nil, false
}

func TestCursorBounds(t *testing.T) {
	for _, f := range fixtures(t, "*-fv*") {
		db := f.db(t, Options{ReadAhead: -1})
		for _, fam := range db.Families() {
			all := f.scan[fam.Name]
			for i := 0; i < len(all); i += 37 {
				lower := all[i].key
				j := min(i+11, len(all)-1)
				upper := all[j].key
				got, err := rows(t.Context(), db, fam.Name, lower, upper)
				if err != nil {
					t.Fatal(err)
				}
				if d := difference(got, all[i:j]); d != "" {
					t.Errorf("%s %s [%x, %x): %s", f.name, fam.Name, lower, upper, d)
				}
			}
		}
	}
}
