package differ_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/differ"
)

// Two consecutive checkpoints of a job give the changes of a state between them.
func ExampleDiff() {
	dir, err := os.MkdirTemp("", "statebridge-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := fixture.Extract(fixture.Heap, dir); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	var tables [2]*checkpoint.Table
	for i, name := range []string{"chk-3", "chk-4"} {
		found, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*", name))
		snap, err := checkpoint.Open(ctx, found[0], checkpoint.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer snap.Close()
		if tables[i], err = snap.Table(ctx, "users-op", "age"); err != nil {
			log.Fatal(err)
		}
	}
	groups := checkpoint.KeyGroups{First: 0, Last: 63} // of 128
	for c, err := range differ.Diff(ctx, tables[0], tables[1], groups, differ.Options{}) {
		if err != nil {
			log.Fatal(err) // what was printed so far is not the whole diff
		}
		fmt.Print(c.Op, " ", string(c.Row().Key))
		if c.Before != nil {
			fmt.Print(" before ", string(c.Before.Value))
		}
		if c.After != nil {
			fmt.Print(" after ", string(c.After.Value))
		}
		fmt.Println()
	}
	// Output:
	// u "u7" before 4 after 63
	// u "u26" before 1 after 38
	// u "u10" before 51 after 3
	// d "u20" before 35
	// c "u2" after 70
	// u "u27" before 76 after 62
	// u "u21" before 31 after 84
	// u "u5" before 58 after 67
	// u "u25" before 29 after 55
}
