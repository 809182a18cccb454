package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
)

// TestCacheOfRun: what run has read, another run and verify don't ask the store for again. A cache that was damaged or deleted costs requests only, and
// one that can't be written is said at once.
func TestCacheOfRun(t *testing.T) {
	server, dir := storagetest.StartS3(t, bucket), t.TempDir()
	proxy := storagetest.StartFaults(t, server.URL)
	login(t, proxy.URL)
	cache := filepath.Join(dir, "cache")
	t.Setenv("STATEBRIDGE_STORAGE_CACHE", cache)
	at := uploadDemo(t, server, filepath.Join(dir, "cp"), 5)
	var gets atomic.Int64
	proxy.Next(func(r *http.Request) bool {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" && !strings.HasSuffix(r.URL.Path, "_metadata") {
			gets.Add(1)
		}
		return false
	}, nil)
	asked := func(args ...string) int64 {
		gets.Store(0)
		succeed(t, args...)
		return gets.Load()
	}
	homes := make([]string, 2)
	for i := range homes {
		homes[i] = t.TempDir()
	}
	first, second := writeMirror(t, homes[0], "s3://flink/cp"), writeMirror(t, homes[1], "s3://flink/cp")
	cold := asked("run", "--once", "--config", first)
	if warm := asked("run", "--once", "--config", second); cold == 0 || warm != 0 {
		t.Errorf("%d requests for ranges, then %d by a run of another data directory", cold, warm)
	}
	for _, home := range homes {
		if want, got := expected(t, at), sqliteRows(t, filepath.Join(home, "bank.db")); !slices.Equal(got, want) {
			t.Errorf("%d rows, want %d, or they differ", len(got), len(want))
		}
	}
	if n := asked("verify", "--config", first); n != 0 {
		t.Errorf("verify asks for %d ranges that run has read", n)
	}
	if files, err := filepath.Glob(filepath.Join(cache, "*", "*")); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	} else {
		flipLast(t, files)
	}
	if n := asked("verify", "--config", first); n != cold {
		t.Errorf("%d requests where all that is held is damaged, %d at first", n, cold)
	}
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	if n := asked("verify", "--config", second); n != cold {
		t.Errorf("%d requests without the cache, %d at first", n, cold)
	}
	t.Setenv("STATEBRIDGE_STORAGE_CACHE", first) // a file
	for _, command := range [][]string{{"run", "--once"}, {"verify"}} {
		if _, errs, code := program(t, append(command, "--config", first)...); code != 1 || !strings.Contains(errs, "storage.cache") {
			t.Errorf("%s: exit code %d: %s", command[0], code, errs)
		}
	}
}

// flipLast changes a bit at the end of files.
func flipLast(t *testing.T, files []string) {
	t.Helper()
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1] ^= 1
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
