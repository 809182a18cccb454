package checkpoint_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
)

// lay makes empty metadata files below a directory, each a second older than the one before.
func lay(t *testing.T, dir string, names ...string) {
	t.Helper()
	now := time.Now()
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(found []checkpoint.Found) (out []int64) {
	for _, f := range found {
		out = append(out, f.ID)
	}
	return out
}

const jobA, jobB = "00000000000000000000000000000001", "ffffffffffffffffffffffffffffffff"

func TestDiscover(t *testing.T) {
	for name, c := range map[string]struct {
		files []string // newest first
		job   string
		want  []int64
	}{
		"by number, not by text or time": {[]string{"chk-9/_metadata", "chk-10/_metadata", "chk-2/_metadata", "chk-11/data"}, "", []int64{2, 9, 10}},
		"the job that wrote last":        {[]string{jobA + "/chk-3/_metadata", jobB + "/chk-77/_metadata"}, "", []int64{3}},
		"the job that was asked for":     {[]string{jobA + "/chk-3/_metadata", jobB + "/chk-77/_metadata"}, jobB, []int64{77}},
		"names that are none":            {[]string{"chk-x/_metadata", "chk-/_metadata", "chk-1.bak/_metadata", "savepoint-1/_metadata", "jobs/chk-4/_metadata"}, "", nil},
		"a job without any":              {[]string{jobA + "/shared/x", jobB + "/chk-1/_metadata"}, "", []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, c.files...)
			found, err := checkpoint.Discover(t.Context(), storage.Local(), dir, c.job)
			if err != nil || !slices.Equal(ids(found), c.want) {
				t.Errorf("%v, %v, want %v", ids(found), err, c.want)
			}
		})
	}
}

func TestDiscoverWithoutDirectory(t *testing.T) {
	if _, err := checkpoint.Discover(t.Context(), storage.Local(), filepath.Join(t.TempDir(), "none"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// pinned takes a pin of the newest snapshot below dir.
func pinned(t *testing.T, pins *checkpoint.Pins, holder, dir string, id int64) *checkpoint.Pin {
	t.Helper()
	found, err := checkpoint.Discover(t.Context(), storage.Local(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(ids(found), id)
	pin, err := pins.Take(t.Context(), holder, found[i], nil, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pin
}

func files(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestPinnedSnapshotOutlivesTheJob: with everything deleted, it reads as before, and the last release leaves nothing.
func TestPinnedSnapshotOutlivesTheJob(t *testing.T) {
	for _, archive := range []string{fixture.Heap, fixture.RocksDB} {
		t.Run(archive, func(t *testing.T) {
			dir, keep := filepath.Join(fixture.Unpack(t, archive), "checkpoints"), t.TempDir()
			pins, err := checkpoint.OpenPins(keep, storage.Local())
			if err != nil {
				t.Fatal(err)
			}
			want := rowsOf(t, open(t, fixture.One(t, dir, "*/chk-4"), checkpoint.Options{}))
			pin, other := pinned(t, pins, "a", dir, 4), pinned(t, pins, "b/../c", dir, 3)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if pins, err = checkpoint.OpenPins(keep, storage.Local()); err != nil { // as after a restart
				t.Fatal(err)
			}
			held, err := pins.Held("a")
			if err != nil || len(held) != 1 || held[0].ID != 4 {
				t.Fatalf("held: %v, %v", held, err)
			}
			s, err := held[0].Open(t.Context(), checkpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := rowsOf(t, s); !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			if err := errors.Join(s.Close(), held[0].Release()); err != nil {
				t.Fatal(err)
			}
			if files(t, filepath.Join(keep, "files")) == 0 {
				t.Error("files that another holder needs are gone")
			}
			held, _ = pins.Held("b/../c")
			if len(held) != 1 || held[0].ID != other.ID {
				t.Fatalf("held: %v", held)
			}
			if err := held[0].Release(); err != nil {
				t.Fatal(err)
			}
			if n := files(t, filepath.Join(keep, "files")); n != 0 {
				t.Errorf("%d files left", n)
			}
			_ = pin
		})
	}
}

// TestPinOfVanishingSnapshot holds nothing.
func TestPinOfVanishingSnapshot(t *testing.T) {
	dir, keep := filepath.Join(fixture.Unpack(t, fixture.RocksDB), "checkpoints"), t.TempDir()
	pins, err := checkpoint.OpenPins(keep, storage.Local())
	if err != nil {
		t.Fatal(err)
	}
	found, err := checkpoint.Discover(t.Context(), storage.Local(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(fixture.One(t, dir, "*/shared")); err != nil {
		t.Fatal(err)
	}
	if _, err := pins.Take(t.Context(), "a", found[len(found)-1], nil, checkpoint.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	if n := files(t, filepath.Join(keep, "files")); n != 0 {
		t.Errorf("%d files left", n)
	}
}

// TestPinsCopyWhereTheyCannotLink goes through a store that has no local paths.
func TestPinsCopyWhereTheyCannotLink(t *testing.T) {
	dir, keep := filepath.Join(fixture.Unpack(t, fixture.RocksDB), "checkpoints"), t.TempDir()
	pins, err := checkpoint.OpenPins(keep, remote{storage.Local()})
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, open(t, fixture.One(t, dir, "*/chk-5"), checkpoint.Options{}))
	found, err := checkpoint.Discover(t.Context(), remote{storage.Local()}, "remote:"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	pin, err := pins.Take(t.Context(), "a", found[len(found)-1], []string{"customers-op"}, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s, err := pin.Open(t.Context(), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := rowsOf(t, s); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// remote is the local disk under addresses that are no local paths.
type remote struct{ local storage.Store }

func (r remote) path(uri string) string { return uri[len("remote:"):] }

func (r remote) Open(ctx context.Context, uri string) (storage.File, error) {
	if len(uri) < 7 || uri[:7] != "remote:" {
		return nil, fs.ErrNotExist
	}
	return r.local.Open(ctx, r.path(uri))
}

func (r remote) Stat(ctx context.Context, uri string) (storage.Info, error) {
	if len(uri) < 7 || uri[:7] != "remote:" {
		return storage.Info{}, fs.ErrNotExist
	}
	info, err := r.local.Stat(ctx, r.path(uri))
	info.URI = uri
	return info, err
}

func (r remote) List(ctx context.Context, uri string) ([]storage.Info, error) {
	list, err := r.local.List(ctx, r.path(uri))
	for i := range list {
		list[i].URI = "remote:" + list[i].URI
	}
	return list, err
}
