package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
)

// snapshot unpacks a snapshot of a real job and gives its directory, which the caller removes.
func snapshot() (location string, remove func()) {
	dir, err := os.MkdirTemp("", "statebridge-example-")
	if err != nil {
		log.Fatal(err)
	}
	if err := fixture.Extract(fixture.Heap, dir); err != nil {
		log.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*", "chk-4"))
	if err != nil || len(found) != 1 {
		log.Fatal(found, err)
	}
	return found[0], func() { os.RemoveAll(dir) }
}

// A snapshot lists its operators, and an operator its states.
func ExampleOpen() {
	location, remove := snapshot()
	defer remove()
	ctx := context.Background()
	snap, err := checkpoint.Open(ctx, location, checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	users, err := snap.Operator("users-op")
	if err != nil {
		log.Fatal(err)
	}
	tables, err := users.Tables(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("checkpoint", snap.ID())
	for _, t := range tables {
		fmt.Println(t.Name, t.Kind, t.Schema().Key.Type())
	}
	// Output:
	// checkpoint 4
	// _timer_state/event_user-timers timer string
	// _timer_state/processing_user-timers timer string
	// age value string
	// late value string
	// seen map string
}

// Rows decodes a table; the members of a row are JSON.
func ExampleTable_Rows() {
	location, remove := snapshot()
	defer remove()
	ctx := context.Background()
	snap, err := checkpoint.Open(ctx, location, checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	events, err := snap.Table(ctx, "sessions-op", "events")
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range events.Rows(ctx, checkpoint.KeyGroups{First: 0, Last: 9}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("key group %d: %s = %s\n", row.KeyGroup, row.Key, row.Value)
	}
	// Output:
	// key group 1: 13 = ["ev52"]
	// key group 7: 4 = ["ev51","ev24","ev74","ev9","ev58","ev84"]
}

// Lookup reads no more of the state than it must to find one key.
func ExampleTable_Lookup() {
	location, remove := snapshot()
	defer remove()
	ctx := context.Background()
	snap, err := checkpoint.Open(ctx, location, checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	seen, err := snap.Table(ctx, "users-op", "seen")
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range seen.Lookup(ctx, checkpoint.Key{Key: []byte(`"u26"`)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s = %s\n", row.Key, row.MapKey, row.Value)
	}
	// Output:
	// "u26" 0 = "s8"
	// "u26" 2 = "s7"
	// "u26" 3 = "s3"
	// "u26" 4 = "s7"
}
