package gcs_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/gcs"
	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
	"github.com/statebridge/statebridge/fault"
)

func open(t *testing.T, endpoint string) *remote.Store {
	t.Helper()
	transport, err := remote.Transport("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	api, err := gcs.New(gcs.Options{Endpoint: endpoint}, transport)
	if err != nil {
		t.Fatal(err)
	}
	return remote.New(api, remote.Options{Pause: time.Millisecond})
}

func TestSuite(t *testing.T) {
	server := storagetest.StartGCS(t, "state")
	t.Setenv("STORAGE_EMULATOR_HOST", server.URL)
	storagetest.Suite(t, &storagetest.Target{
		Store: open(t, ""), Base: "gs://state/base", Pages: 1100,
		Put:    func(key string, content []byte) { server.Put(t, "state", "base/"+key, content) },
		Delete: func(key string) { server.Delete(t, "state", "base/"+key) },
	})
	if _, err := open(t, "").List(t.Context(), "gs://no-such-bucket/cp"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no-such-bucket") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// TestRefused: without credentials, or with ones that cannot be used, the message says so, and no secret with it.
func TestRefused(t *testing.T) {
	server := storagetest.StartGCS(t, "state")
	proxy := storagetest.StartFaults(t, server.URL)
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, []byte(`{"type":"authorized_user","client_id":"id","client_secret":"hidden-word","refresh_token":"hidden-word"`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	_, err := open(t, proxy.URL).Open(t.Context(), "gs://state/file")
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "storage.objects.get") || strings.Contains(err.Error(), "hidden-word") {
		t.Errorf("a broken file: %v", err)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", proxy.URL)
	proxy.Next(func(*http.Request) bool { return true }, storagetest.Status(http.StatusForbidden))
	if _, err := open(t, "").List(t.Context(), "gs://state/cp"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "storage.objects.list") {
		t.Errorf("forbidden: %v", err)
	}
	for _, uri := range []string{"gs://key:secret@state/file", "gs:/file", "gs:///file"} {
		if _, err := open(t, "").Open(t.Context(), uri); !errors.Is(err, fault.ErrUnsupported) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
