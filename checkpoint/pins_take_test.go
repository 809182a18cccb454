package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/slow"
)

// farSnapshots gives the snapshots of the RocksDB fixture at addresses of remote, the newest last.
func farSnapshots(t *testing.T) []checkpoint.Found {
	t.Helper()
	dir := filepath.Join(fixture.Unpack(t, fixture.RocksDB), "checkpoints")
	found, err := checkpoint.Discover(t.Context(), remote{storage.Local()}, "remote:"+dir, "")
	if err != nil || len(found) < 2 {
		t.Fatalf("%d snapshots, %v", len(found), err)
	}
	return found
}

func openPins(t *testing.T, dir string, store storage.Store) *checkpoint.Pins {
	t.Helper()
	pins, err := checkpoint.OpenPins(dir, store)
	if err != nil {
		t.Fatal(err)
	}
	return pins
}

// TestPinsCopyOnlyWhatIsNew: each file costs one request, once, however many checkpoints, holders and lives of the process need it, and the
// metadata one more.
func TestPinsCopyOnlyWhatIsNew(t *testing.T) {
	found, keep := farSnapshots(t), t.TempDir()
	store := &slow.Store{Inner: remote{storage.Local()}, Delay: 2 * time.Millisecond}
	pins, held := openPins(t, keep, store), 0
	take := func(holder string, f checkpoint.Found) (requests, added int) {
		t.Helper()
		before := store.Requests()
		if _, err := pins.Take(t.Context(), holder, f, nil, checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		now := files(t, filepath.Join(keep, "files"))
		added, held = now-held, now
		return int(store.Requests() - before), added
	}
	older, newest := found[len(found)-2], found[len(found)-1]
	requests, first := take("a", older)
	if requests != first+1 || first < 8 {
		t.Errorf("%d requests for %d files", requests, first)
	}
	if most := store.Most(); most < 4 || most > 16 {
		t.Errorf("%d requests at once", most)
	}
	requests, added := take("a", newest)
	if requests != added+1 || added >= first || added < 2 {
		t.Errorf("%d requests for %d files, after %d", requests, added, first)
	}
	if requests, added = take("b", newest); requests != 1 || added != 0 {
		t.Errorf("%d requests for %d files of a snapshot that is pinned", requests, added)
	}
	pins = openPins(t, keep, store)
	if requests, added = take("c", newest); requests != 1 || added != 0 {
		t.Errorf("%d requests for %d files after a restart", requests, added)
	}
}

// failing lets the first read of state files through, by which it is known where they lie, the next hang until they are cancelled, and fails the others.
type failing struct {
	*slow.Store
	reads atomic.Int64
}

var errBroken = errors.New("broken")

const failingRead = 8 // which shows that about as many are under way

func (s *failing) OpenSized(ctx context.Context, uri string, size int64) (storage.File, error) {
	f, err := s.Store.OpenSized(ctx, uri, size)
	if err != nil || strings.HasSuffix(uri, "/_metadata") {
		return f, err
	}
	return &failingFile{f, s}, nil
}

type failingFile struct {
	storage.File
	store *failing
}

func (f *failingFile) ReadAt(ctx context.Context, p []byte, off int64) error {
	switch n := f.store.reads.Add(1); {
	case n == 1:
		return f.File.ReadAt(ctx, p, off)
	case n > failingRead:
		return errBroken
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestPinsCopyFails: the first fault ends the other copies, nothing is left, and the next try is a whole one.
func TestPinsCopyFails(t *testing.T) {
	found, keep := farSnapshots(t), t.TempDir()
	newest := found[len(found)-1]
	good := &slow.Store{Inner: remote{storage.Local()}, Delay: time.Millisecond}
	pins := openPins(t, keep, &failing{Store: good})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := pins.Take(ctx, "a", newest, nil, checkpoint.Options{}); !errors.Is(err, errBroken) {
		t.Fatalf("err = %v", err)
	}
	held, err := pins.Held("a")
	if n := files(t, filepath.Join(keep, "files")); err != nil || len(held) != 0 || n != 0 {
		t.Fatalf("%d pins and %d files left, %v", len(held), n, err)
	}
	half := filepath.Join(keep, "files", "0123.new") // as a killed process leaves it
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	pins = openPins(t, keep, good)
	if n := files(t, filepath.Join(keep, "files")); n != 0 {
		t.Errorf("%d files left after a restart", n)
	}
	pin, err := pins.Take(t.Context(), "a", newest, nil, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pin.Open(t.Context(), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := strings.TrimPrefix(newest.Location, "remote:")
	if got, want := rowsOf(t, s), rowsOf(t, open(t, dir, checkpoint.Options{})); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// TestPinsOfSeveralHoldersAtOnce: one holder's end is not the others', and the last release leaves nothing.
func TestPinsOfSeveralHoldersAtOnce(t *testing.T) {
	found, keep := farSnapshots(t), t.TempDir()
	newest := found[len(found)-1]
	store := &slow.Store{Inner: remote{storage.Local()}, Delay: 5 * time.Millisecond}
	pins := openPins(t, keep, store)
	gone, cancel := context.WithTimeout(t.Context(), 12*time.Millisecond)
	defer cancel()
	results := make(chan error)
	for _, holder := range []string{"a", "b", "c"} {
		go func() {
			_, err := pins.Take(t.Context(), holder, newest, nil, checkpoint.Options{})
			results <- err
		}()
	}
	go func() { _, _ = pins.Take(gone, "gone", newest, nil, checkpoint.Options{}); results <- nil }()
	for range 4 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	for _, holder := range []string{"a", "b", "c", "gone"} {
		held, err := pins.Held(holder)
		if err != nil {
			t.Fatal(err)
		}
		for _, pin := range held {
			if err := pin.Release(); err != nil {
				t.Error(err)
			}
		}
	}
	if n := files(t, filepath.Join(keep, "files")); n != 0 {
		t.Errorf("%d files left", n)
	}
}
