package flink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/fault"
)

func TestCandidates(t *testing.T) {
	for name, c := range map[string]struct {
		dir, path string
		maps      []PathMap
		want      []string // in this order among the others
	}{
		"own shared directory": {"/data/cp/job/chk-5", "file:/flink/cp/job/shared/u", nil,
			[]string{"/data/cp/job/shared/u", "/data/cp/job/chk-5/u", "file:/flink/cp/job/shared/u"}},
		"renamed job directory": {"/copy/renamed/chk-5", "file:/flink/cp/job/shared/u", nil, []string{"/copy/renamed/shared/u"}},
		"another job":           {"/data/cp/jobB/chk-5", "file:/flink/cp/jobA/shared/u", nil, []string{"/data/cp/jobA/shared/u", "/data/cp/jobB/shared/u"}},
		"claimed savepoint":     {"/data/cp/job/chk-5", "file:/flink/sp/savepoint-1/u", nil, []string{"/data/sp/savepoint-1/u"}},
		"exclusive file":        {"/data/cp/job/chk-5", "s3://bucket/x7f2/job/chk-5/u", nil, []string{"/data/cp/job/chk-5/u", "s3://bucket/x7f2/job/chk-5/u"}},
		"renamed savepoint":     {"/copy/yesterday", "file:/sp/savepoint-1/u", nil, []string{"/copy/yesterday/u"}},
		"two shared in a path":  {"/data/shared/cp/job/chk-5", "file:/shared/cp/job/shared/u", nil, []string{"/data/shared/cp/job/shared/u", "/data/shared/cp/job/chk-5/u"}},
		"remote snapshot":       {"s3://other/cp/job/chk-5", "hdfs://h:1/cp/job/shared/u", nil, []string{"s3://other/cp/job/shared/u", "hdfs://h:1/cp/job/shared/u"}},
		"given mapping": {"/data/cp/job/chk-5", "file:/flink/cp/job/shared/u", []PathMap{{"/flink", "/short"}, {"file:///flink/cp/", "/long/"}},
			[]string{"/long/job/shared/u", "/short/cp/job/shared/u", "/data/cp/job/shared/u"}},
		"mapping ends within a name": {"/d", "file:/flink-2/u", []PathMap{{"/flink", "/wrong"}}, []string{"file:/flink-2/u"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Candidates(c.dir, c.path, c.maps)
			at := -1
			for _, want := range c.want {
				i := slices.Index(got, want)
				if i <= at {
					t.Fatalf("%s is number %d behind %d of %q", want, i, at, got)
				}
				at = i
			}
			if strings.Contains(strings.Join(got, "\n"), "/wrong") {
				t.Errorf("%q", got)
			}
		})
	}
}

// tree makes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestResolverOpen(t *testing.T) {
	root := tree(t, map[string]string{
		"cp/jobA/shared/a": "of A", "cp/jobB/shared/b": "of B", "cp/jobB/chk-2/x": "exclusive", "cp/jobB/taskowned/m/merged": "0123456789",
		"secret": "no part of it",
	})
	r := NewResolver(storage.Local(), root+"/cp/jobB/chk-2/", nil)
	file := func(path string, size int64) *StreamHandle {
		return &StreamHandle{Kind: AbsoluteFile, Path: path, Size: size}
	}
	for name, c := range map[string]struct {
		h    *StreamHandle
		want string
		err  error
	}{
		"other job":          {file("file:/gone/cp/jobA/shared/a", 4), "of A", nil},
		"own job":            {file("file:/gone/cp/jobB/shared/b", 4), "of B", nil},
		"relative":           {&StreamHandle{Kind: RelativeFile, Path: "x", Size: 9}, "exclusive", nil},
		"segment":            {&StreamHandle{Kind: Segment, Path: "file:/gone/cp/jobB/taskowned/m/merged", Offset: 3, Size: 4}, "3456", nil},
		"bytes":              {&StreamHandle{Kind: Bytes, Inline: []byte("in it"), Size: 5}, "in it", nil},
		"empty":              {&StreamHandle{Kind: EmptySegment}, "", nil},
		"still where it was": {file("file:"+root+"/secret", 13), "no part of it", nil},
		"missing":            {file("file:/gone/cp/jobB/shared/c", 4), "", fs.ErrNotExist},
		"missing, relative":  {&StreamHandle{Kind: RelativeFile, Path: "y"}, "", fs.ErrNotExist},
		"through a file":     {file("file:/gone/cp/jobA/shared/a/b", 4), "", fs.ErrNotExist},
		"cut short":          {file("file:/gone/cp/jobB/shared/b", 5), "", fault.ErrTruncated},
		"too long":           {file("file:/gone/cp/jobB/shared/b", 3), "", fault.ErrCorrupt},
		"segment cut short":  {&StreamHandle{Kind: Segment, Path: "file:/gone/cp/jobB/taskowned/m/merged", Offset: 8, Size: 3}, "", fault.ErrTruncated},
		"climbs":             {&StreamHandle{Kind: RelativeFile, Path: "../../../secret", Size: 13}, "", fault.ErrCorrupt},
		"climbs, absolute":   {file("file:/gone/cp/jobB/shared/../../../secret", 13), "", fault.ErrCorrupt},
		"not relative":       {&StreamHandle{Kind: RelativeFile, Path: root + "/secret", Size: 13}, "", fault.ErrCorrupt},
		"no path":            {file("", 0), "", fault.ErrCorrupt},
		"unknown storage":    {file("s3://bucket/cp/jobB/shared/c", 4), "", fault.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := r.Open(context.Background(), c.h)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("err = %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			defer f.Close()
			b, err := storage.ReadAll(context.Background(), f, 100)
			if err != nil || string(b) != c.want {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}

// TestResolverPrefersItsOwnTree: a copy is read from the copy, though the original is still there.
func TestResolverPrefersItsOwnTree(t *testing.T) {
	root := tree(t, map[string]string{"old/job/shared/u": "old", "old/job/chk-1/_metadata": "", "new/job/shared/u": "new", "new/job/chk-1/_metadata": ""})
	r := NewResolver(storage.Local(), root+"/new/job/chk-1", nil)
	f, err := r.Open(context.Background(), &StreamHandle{Kind: AbsoluteFile, Path: "file:" + root + "/old/job/shared/u", Size: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := storage.ReadAll(context.Background(), f, 3); string(b) != "new" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// counting counts what is opened.
type counting struct {
	storage.Store
	opened int
}

func (c *counting) Open(ctx context.Context, uri string) (storage.File, error) {
	c.opened++
	return c.Store.Open(ctx, uri)
}

// TestResolverLearns: once a file has been found, its neighbours are found at the first try.
func TestResolverLearns(t *testing.T) {
	root := tree(t, map[string]string{"cp/job/shared/a": "a", "cp/job/shared/b": "b", "cp/job/chk-1/_metadata": ""})
	store := &counting{Store: storage.Local()}
	r := NewResolver(store, root+"/cp/job/chk-1", nil)
	for i, name := range []string{"a", "b", "a"} {
		store.opened = 0
		f, err := r.Open(context.Background(), &StreamHandle{Kind: AbsoluteFile, Path: "file:/gone/away/cp/job/shared/" + name, Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if i > 0 && store.opened != 1 {
			t.Errorf("%s: %d tries", name, store.opened)
		}
	}
}

// laid opens what lies at some addresses, and counts how often it was asked.
type laid struct {
	storage.Store
	there  []string
	opened atomic.Int64
}

func (p *laid) Open(_ context.Context, uri string) (storage.File, error) {
	p.opened.Add(1)
	if !slices.Contains(p.there, uri) {
		return nil, fs.ErrNotExist
	}
	return storage.NewInline(uri, []byte("1")), nil
}

// TestResolverEntropy: of files whose paths have a random part only the first is looked for in many places, also when all are asked for at
// once; and those that a given mapping leads to are found where it says.
func TestResolverEntropy(t *testing.T) {
	const files = 40
	path := func(bucket string, i int) string {
		return fmt.Sprintf("s3://%s/%04x/checkpoints/job/shared/u%d", bucket, i*7919, i)
	}
	for name, c := range map[string]struct {
		bucket string
		maps   []PathMap
	}{
		"where they were written": {"flink", nil},
		"by a mapping":            {"moved", []PathMap{{"s3://flink", "s3://moved"}}},
		"by an idle mapping":      {"flink", []PathMap{{"s3://other", "s3://elsewhere"}}},
	} {
		t.Run(name, func(t *testing.T) {
			store := &laid{Store: storage.Local()}
			for i := range files {
				store.there = append(store.there, path(c.bucket, i))
			}
			r := NewResolver(store, "s3://flink/checkpoints/job/chk-1", c.maps)
			var all errgroup.Group
			for i := range files {
				all.Go(func() error {
					f, err := r.Open(t.Context(), &StreamHandle{Kind: AbsoluteFile, Path: path("flink", i), Size: 1})
					if err == nil && f.Name() != path(c.bucket, i) {
						err = fmt.Errorf("file %d is taken from %s", i, f.Name())
					}
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			if n := store.opened.Load(); n > files+20 {
				t.Errorf("%d look-ups for %d files", n, files)
			}
		})
	}
}

// TestResolverStopsAtFound: what was found and then failed is the end, whatever lies in other places.
func TestResolverStopsAtFound(t *testing.T) {
	full := errors.New("disk full")
	r, asked := NewResolver(storage.Local(), "/data/cp/job/chk-1", nil), 0
	_, err := r.OpenBy(t.Context(), &StreamHandle{Kind: AbsoluteFile, Path: "file:/flink/cp/job/shared/u", Size: 1}, func(context.Context, string, func()) (storage.File, error) {
		asked++
		return nil, &FoundError{full}
	})
	if asked != 1 || !errors.Is(err, full) || err.Error() != full.Error() {
		t.Errorf("%d places asked, %v", asked, err)
	}
}
