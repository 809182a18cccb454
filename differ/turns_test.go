package differ_test

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/slow"
	"github.com/statebridge/statebridge/differ"
)

// TestTurns: over a store that answers late, a diff of two incremental checkpoints waits three times: for both _metadata, for all that these
// name, the ends of the tables included, and for blocks. The tables of this job are so small that their ends are all of them, so it is two.
// Nothing is asked for twice. The clock is that of the test alone, so it counts waits and no work.
func TestTurns(t *testing.T) {
	dir := fixture.Unpack(t, fixture.RocksDB)
	at := filepath.Dir(fixture.One(t, dir, "checkpoints/*/chk-2/_metadata"))
	synctest.Test(t, func(t *testing.T) {
		store := &slow.Store{Inner: storage.Local(), Delay: 20 * time.Millisecond}
		begin := time.Now()
		snaps := make([]*checkpoint.Snapshot, 2)
		var both sync.WaitGroup
		for i, chk := range []string{at, filepath.Join(filepath.Dir(at), "chk-3")} {
			both.Go(func() {
				var err error
				if snaps[i], err = checkpoint.Open(t.Context(), chk, checkpoint.Options{Store: store}); err != nil {
					t.Error(err)
				}
			})
		}
		if both.Wait(); t.Failed() {
			return
		}
		base, next := snaps[0], snaps[1]
		defer base.Close()
		defer next.Close()
		checkpoint.LoadPair(t.Context(), base.Operators(), next.Operators())
		opened := time.Since(begin)
		changes, requests := 0, store.Requests()
		for _, o := range next.Operators() {
			tables, err := o.Tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				before, err := base.Table(t.Context(), o.ID, table.Name)
				if err != nil || !table.Keyed() {
					continue
				}
				for _, err := range differ.Diff(t.Context(), before, table, checkpoint.AllKeyGroups(table.MaxParallelism()), differ.Options{Method: checkpoint.ByFile}) {
					if err != nil {
						t.Fatal(err)
					}
					changes++
				}
			}
		}
		if changes == 0 || opened != 2*store.Delay || time.Since(begin) != opened || store.Requests() != requests {
			t.Errorf("%d changes, %v to open, %v in all; %d requests to open, %d in all", changes, opened, time.Since(begin), requests, store.Requests())
		}
	})
}
