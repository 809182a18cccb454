package stream

import "testing"

// TestRowsAreCountedOn from the newest full epoch, and not where one before it does not say.
func TestRowsAreCountedOn(t *testing.T) {
	full := Epoch{Full: true, Counts: Counts{R: 5}}
	five := full.rowsAfter(nil)
	if five == nil || *five != 5 {
		t.Fatal(five)
	}
	delta := Epoch{Counts: Counts{C: 3, U: 4, D: 2}}
	if six := delta.rowsAfter(five); six == nil || *six != 6 {
		t.Error(six)
	}
	if n := delta.rowsAfter(nil); n != nil {
		t.Error(*n)
	}
	less := Epoch{Counts: Counts{D: 6}} // than none there are not
	if n := less.rowsAfter(five); n != nil {
		t.Error(*n)
	}
}
