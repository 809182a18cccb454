package redis

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TestKeySet: what one set has and the other lacks, once each, whatever the keys hold; nothing is left on disk.
func TestKeySet(t *testing.T) {
	dir := t.TempDir()
	a, err := newKeySet(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newKeySet(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		key := fmt.Sprintf("k\n%d", i)
		for range 1 + i%2 {
			if err := a.add(key); err != nil {
				t.Fatal(err)
			}
		}
		if i%1000 != 7 {
			if err := b.add(key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.add(""); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := a.without(b, func(key string) error { got = append(got, key); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"", "k\n1007", "k\n2007", "k\n3007", "k\n4007", "k\n7"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
}
