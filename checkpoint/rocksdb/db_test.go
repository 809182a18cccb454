package rocksdb

import (
	"bytes"
	"errors"
	"slices"
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
			if f.name == "eight-bench" {
				t.Skip("too many rows to ask for each")
			}
			keys := probes(t, db)
			for _, fam := range db.Families() {
				for _, key := range keys {
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

// probes gives every key that any table has, visible or not, and neighbours that are mostly absent.
func probes(t *testing.T, db *DB) [][]byte {
	keys := [][]byte{{}, {0xff}}
	for _, fam := range db.Families() {
		c, err := db.InternalCursor(t.Context(), fam.Files, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; c.Next(); n++ {
			keys = append(keys, bytes.Clone(c.Key()))
			if n%3 == 0 && len(c.Key()) > 0 {
				keys = append(keys, append(bytes.Clone(c.Key()), 0), bytes.Clone(c.Key()[:len(c.Key())-1]))
			}
		}
		if err := errors.Join(c.Err(), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func (f *fixture) lookup(family string, key []byte) ([]byte, bool) {
	list := f.scan[family]
	i, found := slices.BinarySearchFunc(list, key, func(r row, key []byte) int { return bytes.Compare(r.key, key) })
	if !found {
		return nil, false
	}
	return list[i].value, true
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
