package storagetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/statebridge/statebridge/selfsigned"
)

// Key and Secret are those of the servers.
const (
	Key    = "test-key"
	Secret = "test-secret-7d1f"
)

// S3 is a versitygw that stores objects as files.
type S3 struct {
	URL    string // of the endpoint
	client *minio.Client
}

// StartS3 starts a server with one bucket.
func StartS3(t testing.TB, bucket string) *S3 { return startS3(t, bucket, nil) }

// StartS3TLS starts one that speaks TLS, and gives the file with the certificate that it chains to.
func StartS3TLS(t testing.TB, bucket string) (s *S3, ca string) {
	c := selfsigned.New(t)
	return startS3(t, bucket, &c), c.Cert
}

func startS3(t testing.TB, bucket string, certificate *selfsigned.Certificate) *S3 {
	t.Helper()
	dir, sidecar := t.TempDir(), t.TempDir() // not every file system of a test has attributes
	p := run(t, "versitygw", "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0", nil, func(address string) []string {
		args := []string{"--access", Key, "--secret", Secret, "--port", address, "--quiet", "--keep-alive"}
		if certificate != nil {
			args = append(args, "--cert", certificate.Cert, "--key", certificate.Key)
		}
		return append(args, "posix", "--sidecar", sidecar, dir)
	})
	s := &S3{URL: "http://" + p.Address}
	o := &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: "us-east-1"}
	if certificate != nil {
		s.URL, o.Secure = "https://"+p.Address, true
		o.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: certificate.Pool(t), MinVersion: tls.VersionTLS12}}
	}
	var err error
	if s.client, err = minio.New(p.Address, o); err != nil {
		t.Fatal(err)
	}
	if err := s.client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Put stores an object.
func (s *S3) Put(t testing.TB, bucket, key string, content []byte) {
	t.Helper()
	if _, err := s.client.PutObject(t.Context(), bucket, key, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// DeleteBelow deletes all objects whose keys begin with prefix.
func (s *S3) DeleteBelow(t testing.TB, bucket, prefix string) {
	t.Helper()
	for o := range s.client.ListObjectsIter(t.Context(), bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		s.Delete(t, bucket, o.Key)
	}
}

// Delete deletes an object.
func (s *S3) Delete(t testing.TB, bucket, key string) {
	t.Helper()
	if err := s.client.RemoveObject(context.WithoutCancel(t.Context()), bucket, key, minio.RemoveObjectOptions{}); err != nil {
		t.Fatalf("delete %s: %v", key, err)
	}
}

// Upload stores the files below dir as objects below prefix. Those that are there with the same size are left alone, as a job never
// changes a file.
func (s *S3) Upload(t testing.TB, bucket, prefix, dir string) {
	t.Helper()
	there := map[string]int64{}
	for o := range s.client.ListObjectsIter(t.Context(), bucket, minio.ListObjectsOptions{Prefix: prefix + "/", Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		there[o.Key] = o.Size
	}
	walk(t, dir, func(name string, content []byte) {
		key := prefix + "/" + name
		if size, ok := there[key]; !ok || size != int64(len(content)) {
			s.Put(t, bucket, key, content)
		}
	})
}

// walk calls do with each file below dir, by its name with slashes.
func walk(t testing.TB, dir string, do func(name string, content []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		do(filepath.ToSlash(name), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
