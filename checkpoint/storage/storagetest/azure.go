package storagetest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// The account that all Azurites have, as their documentation names it.
const (
	AzureAccount = "devstoreaccount1"
	AzureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azure is an Azurite that keeps blobs in memory.
type Azure struct {
	URL    string // of the account's Blob service
	client *azblob.Client
}

// StartAzure starts a server with one container.
func StartAzure(t testing.TB, container string) *Azure {
	t.Helper()
	p := run(t, "azurite-blob", "npm install --global azurite@3.37.0", nil, func(address string) []string {
		host, port, _ := net.SplitHostPort(address)
		return []string{"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"}
	})
	s := &Azure{URL: "http://" + p.Address + "/" + AzureAccount}
	key, err := azblob.NewSharedKeyCredential(AzureAccount, AzureKey)
	if err == nil {
		s.client, err = azblob.NewClientWithSharedKeyCredential(s.URL, key, nil)
	}
	if err == nil {
		_, err = s.client.CreateContainer(t.Context(), container, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Put stores a blob.
func (s *Azure) Put(t testing.TB, container, key string, content []byte) {
	t.Helper()
	if _, err := s.client.UploadBuffer(t.Context(), container, key, content, nil); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// Delete deletes a blob.
func (s *Azure) Delete(t testing.TB, container, key string) {
	t.Helper()
	if _, err := s.client.DeleteBlob(context.WithoutCancel(t.Context()), container, key, nil); err != nil {
		t.Fatalf("delete %s: %v", key, err)
	}
}

// Signature gives a shared access signature to read and list a container for a while.
func (s *Azure) Signature(t testing.TB, name string) string {
	t.Helper()
	address, err := s.client.ServiceClient().NewContainerClient(name).
		GetSASURL(sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, signature, _ := strings.Cut(address, "?")
	return signature
}
