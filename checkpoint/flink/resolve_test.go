package flink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
