package storagetest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// GCS is a fake-gcs-server that keeps objects in memory. It asks for no credentials.
type GCS struct{ URL string }

// StartGCS starts a server with one bucket.
func StartGCS(t testing.TB, bucket string) *GCS {
	t.Helper()
	p := run(t, "fake-gcs-server", "go install github.com/fsouza/fake-gcs-server@v1.56.1", nil, func(address string) []string {
		host, port, _ := net.SplitHostPort(address)
		return []string{"-backend", "memory", "-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-log-level", "error"}
	})
	s := &GCS{URL: "http://" + p.Address}
	send(t, http.MethodPost, s.URL+"/storage/v1/b?project=test", "application/json", []byte(`{"name":"`+bucket+`"}`))
	return s
}

// Put stores an object.
func (s *GCS) Put(t testing.TB, bucket, key string, content []byte) {
	t.Helper()
	send(t, http.MethodPost, s.URL+"/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+url.QueryEscape(key), "application/octet-stream", content)
}

// Delete deletes an object.
func (s *GCS) Delete(t testing.TB, bucket, key string) {
	t.Helper()
	send(t, http.MethodDelete, s.URL+"/storage/v1/b/"+bucket+"/o/"+url.PathEscape(key), "", nil)
}

// send sends a request that must succeed.
func send(t testing.TB, method, url, kind string, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		where, _, _ := strings.Cut(url, "?")
		t.Fatalf("%s %s: %s", method, where, resp.Status)
	}
}
