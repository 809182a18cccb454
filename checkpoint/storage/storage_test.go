package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLocalOpen(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	file := write(t, dir, "a%20b", "hello") // escapes are part of the name
	if err := os.Symlink(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{file, "file:" + file, "file://" + file, "file://localhost" + file, filepath.Join(dir, "link")} {
		f, err := Local().Open(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ReadAll(ctx, f, 5)
		if string(b) != "hello" || f.Size() != 5 || err != nil {
			t.Errorf("%s: %q of %d bytes, %v", uri, b, f.Size(), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLocalOpenFaults(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "a", "hello")
	for uri, want := range map[string]error{
		filepath.Join(dir, "none"): fs.ErrNotExist,
		file + "/below":            fs.ErrNotExist,
		"s3://bucket/key":          fault.ErrUnsupported,
		"file://elsewhere/a":       fault.ErrUnsupported,
		"file://no-path-at-all":    fault.ErrUnsupported,
		"hdfs:/a":                  fault.ErrUnsupported,
	} {
		if _, err := Local().Open(context.Background(), uri); !errors.Is(err, want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := Local().Open(context.Background(), dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory: %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := Local().Open(ended, file); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestReadAt holds all kinds of File to the same rules.
func TestReadAt(t *testing.T) {
	ctx := context.Background()
	local, err := Local().Open(ctx, write(t, t.TempDir(), "a", "0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	outer := NewInline("outer", []byte("xx0123456789xx"))
	for name, f := range map[string]File{"local": local, "inline": NewInline("i", []byte("0123456789")), "section": Section(outer, 2, 10, "s")} {
		t.Run(name, func(t *testing.T) {
			p := make([]byte, 4)
			if err := f.ReadAt(ctx, p, 3); err != nil || string(p) != "3456" {
				t.Errorf("%q, %v", p, err)
			}
			if err := f.ReadAt(ctx, nil, 10); err != nil {
				t.Errorf("nothing at the end: %v", err)
			}
			for _, off := range []int64{7, 10, 11, 1 << 62} {
				if err := f.ReadAt(ctx, p, off); !errors.Is(err, fault.ErrTruncated) {
					t.Errorf("at %d: %v", off, err)
				}
			}
			if err := f.ReadAt(ctx, p, -1); !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("at -1: %v", err)
			}
			ended, end := context.WithCancel(ctx)
			end()
			if err := f.ReadAt(ended, p, 0); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end: %v", err)
			}
			if f.Size() != 10 {
				t.Errorf("size %d", f.Size())
			}
			if _, err := ReadAll(ctx, f, 9); !errors.Is(err, fault.ErrUnsupported) {
				t.Errorf("too big: %v", err)
			}
		})
	}
}

func TestLocalList(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	write(t, dir, "a", "123")
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "d"), filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	infos, err := Local().List(ctx, "file://"+dir+"/")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Info{}
	for _, i := range infos {
		got[i.Name] = i
	}
	if len(got) != 3 || got["a"].Size != 3 || got["a"].IsDir || !got["d"].IsDir || !got["l"].IsDir {
		t.Errorf("%+v", infos)
	}
	for _, i := range infos {
		if st, err := Local().Stat(ctx, i.URI); err != nil || st.Name != i.Name || st.IsDir != i.IsDir {
			t.Errorf("%s: %+v, %v", i.URI, st, err)
		}
	}
	if _, err := Local().List(ctx, dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Local().Stat(ctx, dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:/a": "file", "S3://b/k": "s3", "abfss://c@h/p": "abfss", "/a": "", "a/b": "", "./a:/b": "", "7:/a": "", "": "", "gs+x.y-z:/a": "gs+x.y-z",
	} {
		if got := Scheme(uri); got != want {
			t.Errorf("Scheme(%q) = %q", uri, got)
		}
	}
	for uri, want := range map[string][2]string{
		"/a/b": {"/a", "b"}, "/a/b/": {"/a", "b"}, "/a": {"", "a"}, "a": {"", "a"}, "file:/a/b": {"file:/a", "b"}, "file:///a/b": {"file:///a", "b"},
		"s3://bucket/k": {"s3://bucket", "k"}, "s3://bucket": {"", "bucket"}, "/": {"", ""},
	} {
		if dir, name := Split(uri); dir != want[0] || name != want[1] {
			t.Errorf("Split(%q) = %q, %q", uri, dir, name)
		}
	}
	if got := Join("s3://b/", "k"); got != "s3://b/k" {
		t.Error(got)
	}
}
