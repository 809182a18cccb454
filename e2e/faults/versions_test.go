package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/redis"
	"github.com/statebridge/statebridge/sinks/sinktest"
	"github.com/statebridge/statebridge/stream"
)

// TestVersions: the reader of whole versions sees each checkpoint as it was while money moves.
func TestVersions(t *testing.T) {
	server := sinktest.StartRedis(t)
	sink, err := redis.Open(t.Context(), fmt.Sprintf("%s/%d", server.URL, versionsDB), redis.Options{Key: "accounts:{id}", Publish: redis.Swap})
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	table := sinks.Table{Source: "bank", Consumer: "accounts", Columns: []stream.Column{{Name: "id", Type: "int64", Key: true}, {Name: "balance", Type: "int64"}}}
	if err := sink.Prepare(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	balances, held := map[int64]int64{}, map[state]digests{}
	for id := range int64(accounts + 1) {
		balances[id*2] = 1000 // ids have gaps
	}
	commit := func(n uint64, changes []stream.Change) {
		t.Helper()
		var d digests
		for id, b := range balances {
			d.accounts += b * (id%1009 + 1)
		}
		held[state{"job", int64(n)}] = d
		at, err := sink.Position(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		to := stream.Epoch{Source: "bank", Consumer: "accounts", Chain: "chain", Number: n, Full: n == 1, Columns: table.Columns, Snapshot: stream.SnapshotRef{Job: "job", CheckpointID: int64(n)}}
		tx, err := sink.Begin(t.Context(), table, at, to)
		if err == nil {
			err = tx.Apply(t.Context(), changes)
		}
		if err == nil {
			err = tx.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(id int64) stream.Change {
		return stream.Change{Op: 'u', Key: fmt.Appendf(nil, `{"id":%d}`, id), After: fmt.Appendf(nil, `{"id":%d,"balance":%d}`, id, balances[id])}
	}
	var all []stream.Change
	for id := range balances {
		all = append(all, change(id))
	}
	commit(1, all)
	v := followVersions(newLedger(t), server.Addr)
	n := uint64(1)
	for deadline := time.Now().Add(60 * time.Second); v.distinct.Load() < 5 && time.Now().Before(deadline); {
		n++
		touched := map[int64]bool{}
		for i := range int64(500) {
			from, to := (i*7+int64(n))%accounts*2+2, (i*13+int64(n)*5)%accounts*2+2
			balances[from] -= i
			balances[to] += i
			touched[from], touched[to] = true, true
		}
		var moved []stream.Change
		for id := range touched {
			moved = append(moved, change(id))
		}
		commit(n, moved)
	}
	v.end(held)
}
