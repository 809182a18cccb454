package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/checkpoint/storage/s3"
	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
	"github.com/statebridge/statebridge/fault"
)

const bucket = "state"

// login gives this process the credentials of the server, and none of the machine's.
func login(t *testing.T, key, secret string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func open(t *testing.T, url, ca string, o remote.Options) *remote.Store {
	t.Helper()
	transport, err := remote.Transport(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	api, err := s3.New(s3.Options{Endpoint: url}, transport)
	if err != nil {
		t.Fatal(err)
	}
	o.Pause = time.Millisecond
	return remote.New(api, o)
}

func content(n int) []byte {
	b, r := make([]byte, n), rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestFiles(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server, ctx := storagetest.StartS3(t, bucket), t.Context()
	want := content(3<<20 + 17)
	server.Put(t, bucket, "cp/job a+%20/shared/file", want)
	server.Put(t, bucket, "cp/job a+%20/empty", nil)
	store := open(t, server.URL, "", remote.Options{})
	for _, uri := range []string{"s3://state/cp/job a+%20/shared/file", "s3a://state/cp/job a+%20/shared/file", "s3p://state//cp/job a+%20/shared/file"} {
		f, err := store.Open(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 1000)
		if err := f.ReadAt(ctx, p, 1<<20); err != nil || !bytes.Equal(p, want[1<<20:][:1000]) {
			t.Errorf("%s: a range differs, %v", uri, err)
		}
		if err := f.ReadAt(ctx, p, f.Size()-999); !errors.Is(err, fault.ErrTruncated) {
			t.Errorf("past the end: %v", err)
		}
		for _, limit := range []int64{f.Size(), f.Size() - 1} {
			b, err := store.ReadFile(ctx, uri, limit)
			if limit == f.Size() && (err != nil || !bytes.Equal(b, want)) || limit < f.Size() && !errors.Is(err, fault.ErrUnsupported) {
				t.Errorf("whole, at most %d: %d bytes, %v", limit, len(b), err)
			}
		}
	}
	if b, err := store.ReadFile(ctx, "s3://state/cp/job a+%20/empty", 10); err != nil || len(b) != 0 {
		t.Errorf("empty: %q, %v", b, err)
	}
	if i, err := store.Stat(ctx, "s3://state/cp/job a+%20/shared/file"); err != nil || i.Size != int64(len(want)) || i.Version == "" || i.ModTime.IsZero() || i.Name != "file" {
		t.Errorf("%+v, %v", i, err)
	}
	for _, missing := range []string{"s3://state/cp/job a+%20/none", "s3://state/cp/job a+%20/shared", "s3://state"} {
		if _, err := store.Open(ctx, missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", missing, err)
		}
		if _, err := store.ReadFile(ctx, missing, 10); !errors.Is(err, fs.ErrNotExist) && missing != "s3://state" {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

func TestOpenSized(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server, ctx := storagetest.StartS3(t, bucket), t.Context()
	want := content(1 << 20)
	server.Put(t, bucket, "file", want)
	proxy := storagetest.StartFaults(t, server.URL)
	store := open(t, proxy.URL, "", remote.Options{})
	if _, err := store.ReadFile(ctx, "s3://state/file", 1<<20); err != nil { // settles the region
		t.Fatal(err)
	}
	proxy.Next(nil)
	f, err := store.OpenSized(ctx, "s3://state/file", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	got := make([]byte, 1<<20)
	for off := 0; off < len(got); off += 1 << 16 {
		g.Go(func() error { return f.ReadAt(ctx, got[off:][:1<<16], int64(off)) })
	}
	if err := g.Wait(); err != nil || !bytes.Equal(got, want) || proxy.Requests() != 16 {
		t.Errorf("by %d requests, equal: %t, %v", proxy.Requests(), bytes.Equal(got, want), err)
	}
	for size, want := range map[int64]error{1<<20 + 1: fault.ErrTruncated, 1<<20 - 1: fault.ErrCorrupt} {
		f, err := store.OpenSized(ctx, "s3://state/file", size)
		if err == nil {
			err = f.ReadAt(ctx, make([]byte, 10), 0)
		}
		if !errors.Is(err, want) {
			t.Errorf("taken for %d bytes: %v", size, err)
		}
	}
}

func TestList(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server, ctx := storagetest.StartS3(t, bucket), t.Context()
	for i := range 1100 { // more than a page
		server.Put(t, bucket, fmt.Sprintf("cp/chk-%04d/_metadata", i), []byte("m"))
	}
	server.Put(t, bucket, "cp/file", []byte("123"))
	server.Put(t, bucket, "cpx/file", []byte("123"))
	store := open(t, server.URL, "", remote.Options{})
	for _, uri := range []string{"s3://state/cp", "s3a://state/cp/"} {
		infos, err := store.List(ctx, uri)
		if err != nil || len(infos) != 1101 {
			t.Fatalf("%d entries, %v", len(infos), err)
		}
		for _, i := range infos {
			if i.IsDir == (i.Name == "file") || i.URI != strings.TrimSuffix(uri, "/")+"/"+i.Name {
				t.Errorf("%+v", i)
			}
		}
	}
	if infos, err := store.List(ctx, "s3://state"); err != nil || len(infos) != 2 {
		t.Errorf("the bucket: %+v, %v", infos, err)
	}
	if _, err := store.List(ctx, "s3://state/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := store.List(ctx, "s3://no-such-bucket/cp"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no-such-bucket") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// TestReplaced: what was opened is read, or nothing.
func TestReplaced(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server, ctx := storagetest.StartS3(t, bucket), t.Context()
	store := open(t, server.URL, "", remote.Options{})
	for name, change := range map[string]func(){
		"replaced": func() { server.Put(t, bucket, "file", []byte("abcdefghij")) },
		"deleted":  func() { server.Delete(t, bucket, "file") },
	} {
		server.Put(t, bucket, "file", []byte("0123456789"))
		opened, err := store.Open(ctx, "s3://state/file")
		if err != nil {
			t.Fatal(err)
		}
		sized, err := store.OpenSized(ctx, "s3://state/file", 10)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 5)
		if err := sized.ReadAt(ctx, p, 0); err != nil || string(p) != "01234" {
			t.Fatalf("%q, %v", p, err)
		}
		change()
		for _, f := range []storage.File{opened, sized} {
			if err := f.ReadAt(ctx, p, 5); !errors.Is(err, fs.ErrNotExist) || name == "replaced" && !strings.Contains(err.Error(), "replaced") {
				t.Errorf("%s: %q, %v", name, p, err)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server := storagetest.StartS3(t, bucket)
	want := content(1 << 20)
	server.Put(t, bucket, "file", want)
	proxy := storagetest.StartFaults(t, server.URL)
	gets := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/file") }
	repeat := func(h http.HandlerFunc, n int) (all []http.HandlerFunc) {
		for range n {
			all = append(all, h)
		}
		return all
	}
	for name, c := range map[string]struct {
		spoil []http.HandlerFunc
		want  error
		left  int // faults that no try has met
	}{
		"throttled":         {spoil: []http.HandlerFunc{storagetest.Status(503), storagetest.Status(429), storagetest.Status(503, "Retry-After", "0")}},
		"cut":               {spoil: []http.HandlerFunc{storagetest.Cut, storagetest.Cut}},
		"cut in the middle": {spoil: repeat(proxy.Halve, 12)}, // each brings some bytes, so more than the tries are allowed
		"stalled":           {spoil: []http.HandlerFunc{storagetest.Hang}},
		"down":              {spoil: repeat(storagetest.Status(503), 5), want: storage.ErrUnavailable, left: 1},
		"gone":              {spoil: repeat(storagetest.Status(404), 2), want: fs.ErrNotExist, left: 1},
		"forbidden":         {spoil: repeat(storagetest.Status(403), 2), want: fs.ErrPermission, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.Next(nil)
			store := open(t, proxy.URL, "", remote.Options{Tries: 4, Stall: 200 * time.Millisecond})
			f, err := store.Open(t.Context(), "s3://state/file")
			if err != nil {
				t.Fatal(err)
			}
			proxy.Next(gets, c.spoil...)
			got := make([]byte, len(want))
			err = f.ReadAt(t.Context(), got, 0)
			if !errors.Is(err, c.want) || err == nil && !bytes.Equal(got, want) {
				t.Errorf("equal: %t, %v", bytes.Equal(got, want), err)
			}
			if proxy.Left() != c.left {
				t.Errorf("%d faults are left", proxy.Left())
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		proxy.Next(nil) // a fault may be left from the case before
		store := open(t, proxy.URL, "", remote.Options{})
		f, err := store.Open(t.Context(), "s3://state/file")
		if err != nil {
			t.Fatal(err)
		}
		proxy.Next(gets, repeat(storagetest.Hang, 100)...)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := f.ReadAt(ctx, make([]byte, 10), 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestRefused: what is wrong is said, and no secret with it.
func TestRefused(t *testing.T) {
	server := storagetest.StartS3(t, bucket)
	server.Put(t, bucket, "file", []byte("x"))
	for name, c := range map[string]struct{ key, secret, want string }{
		"wrong secret": {storagetest.Key, "wrong-secret-9c2e", "the credentials that are not accepted"},
		"unknown key":  {"nobody", "wrong-secret-9c2e", "the credentials that are not accepted"},
		"none":         {"", "", "there are no credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			login(t, c.key, c.secret)
			store := open(t, server.URL, "", remote.Options{})
			_, err := store.ReadFile(t.Context(), "s3://state/file", 10)
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "9c2e") {
				t.Error(err)
			}
		})
	}
	for _, uri := range []string{"s3://key:secret@state/file", "s3:/file", "s3:///file"} {
		_, err := open(t, server.URL, "", remote.Options{}).Open(t.Context(), uri)
		if !errors.Is(err, fault.ErrUnsupported) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestCredentialsFile(t *testing.T) {
	login(t, "", "")
	server := storagetest.StartS3(t, bucket)
	server.Put(t, bucket, "file", []byte("x"))
	file := filepath.Join(t.TempDir(), "credentials")
	text := fmt.Sprintf("[bridge]\naws_access_key_id = %s\naws_secret_access_key = %s\n", storagetest.Key, storagetest.Secret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "bridge")
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	if b, err := open(t, "", "", remote.Options{}).ReadFile(t.Context(), "s3://state/file", 10); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTLS(t *testing.T) {
	login(t, storagetest.Key, storagetest.Secret)
	server, ca := storagetest.StartS3TLS(t, bucket)
	server.Put(t, bucket, "file", []byte("x"))
	if b, err := open(t, server.URL, ca, remote.Options{}).ReadFile(t.Context(), "s3://state/file", 10); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := open(t, server.URL, "", remote.Options{}).ReadFile(t.Context(), "s3://state/file", 10); err == nil || !strings.Contains(err.Error(), "storage.ca") {
		t.Errorf("without the certificate: %v", err)
	}
}

func TestEndpoint(t *testing.T) {
	for _, bad := range []string{"http://user:secret@host", "ftp://host", "http://", "https://host/bucket"} {
		if _, err := s3.New(s3.Options{Endpoint: bad}, http.DefaultTransport); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
