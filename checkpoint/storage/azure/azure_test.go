package azure_test

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/azure"
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
	api, err := azure.New(azure.Options{Endpoint: endpoint}, transport)
	if err != nil {
		t.Fatal(err)
	}
	return remote.New(api, remote.Options{Pause: time.Millisecond})
}

const base = "abfss://state@devstoreaccount1.dfs.core.windows.net/base"

func TestSuite(t *testing.T) {
	server := storagetest.StartAzure(t, "state")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName="+storagetest.AzureAccount+";AccountKey="+storagetest.AzureKey)
	store := open(t, server.URL)
	storagetest.Suite(t, &storagetest.Target{
		Store: store, Base: base,
		Put:    func(key string, content []byte) { server.Put(t, "state", "base/"+key, content) },
		Delete: func(key string) { server.Delete(t, "state", "base/"+key) },
	})
	server.Put(t, "state", "base/file", []byte("x"))
	if b, err := store.ReadFile(t.Context(), "wasbs://state@devstoreaccount1.blob.core.windows.net/base/file", 10); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	_, err := store.List(t.Context(), "abfss://none-such@devstoreaccount1.dfs.core.windows.net/cp")
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none-such") {
		t.Errorf("a container that is not there: %v", err)
	}
}

// TestSignature: a shared access signature goes into each request, and into no message.
func TestSignature(t *testing.T) {
	server := storagetest.StartAzure(t, "state")
	server.Put(t, "state", "base/file", []byte("x"))
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "?"+server.Signature(t, "state"))
	if b, err := open(t, server.URL).ReadFile(t.Context(), base+"/file", 10); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	proxy := storagetest.StartFaults(t, server.URL)
	for _, spoil := range []http.HandlerFunc{storagetest.Cut, storagetest.Status(http.StatusForbidden)} {
		proxy.Next(func(*http.Request) bool { return true }, spoil, spoil, spoil, spoil, spoil, spoil, spoil, spoil)
		if _, err := open(t, proxy.URL+"/"+storagetest.AzureAccount).Open(t.Context(), base+"/file"); err == nil || strings.Contains(err.Error(), "sig=") {
			t.Error(err)
		}
	}
}

func TestRefused(t *testing.T) {
	server := storagetest.StartAzure(t, "state")
	t.Setenv("AZURE_STORAGE_ACCOUNT", storagetest.AzureAccount)
	t.Setenv("AZURE_STORAGE_KEY", "aGlkZGVuLXdvcmQ=")
	_, err := open(t, server.URL).List(t.Context(), base)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "Storage Blob Data Reader") || strings.Contains(err.Error(), "aGlkZGVu") {
		t.Errorf("a wrong key: %v", err)
	}
	t.Setenv("AZURE_STORAGE_KEY", "no base64!")
	if _, err := azure.New(azure.Options{}, http.DefaultTransport); err == nil || strings.Contains(err.Error(), "no base64!") {
		t.Errorf("a key that is none: %v", err)
	}
	t.Setenv("AZURE_STORAGE_KEY", "aGlkZGVuLXdvcmQ=")
	for _, uri := range []string{"abfss://state/file", "abfss://a:secret@b@host/file", "abfss:/file"} {
		if _, err := open(t, "").Open(t.Context(), uri); !errors.Is(err, fault.ErrUnsupported) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
