package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture/large"
	"github.com/statebridge/statebridge/fault"
)

// TestRowsBeyondTheLimit: a row that is larger than MaxRow is an error that says so, however it is reached, and never left out.
func TestRowsBeyondTheLimit(t *testing.T) {
	s := large.Snapshot{ID: 1, Rows: 10, ValueBytes: 5000}
	for form, write := range map[string]func(string) error{"heap": s.Heap, "rocksdb": s.RocksDB} {
		dir := t.TempDir()
		if err := write(dir); err != nil {
			t.Fatal(err)
		}
		for limit, refused := range map[int]bool{0: false, 6000: false, 4000: true} {
			table, err := open(t, dir, checkpoint.Options{MaxRow: limit}).Table(t.Context(), large.Operator, large.State)
			if err != nil {
				t.Fatal(err)
			}
			_, byRows := oneByOne(t, table, checkpoint.AllKeyGroups(table.MaxParallelism()))
			_, byConvert := converted(t.Context(), table, checkpoint.AllKeyGroups(table.MaxParallelism()), 4)
			var byLookup error
			for _, err := range table.Lookup(t.Context(), checkpoint.Key{Key: []byte(`"` + large.Key(3) + `"`)}) {
				byLookup = err
			}
			for _, err := range []error{byRows, byConvert, byLookup} {
				if (err != nil) != refused || refused && (!errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), "no more than 4000")) {
					t.Errorf("%s, limit %d: %v", form, limit, err)
				}
			}
		}
	}
}
