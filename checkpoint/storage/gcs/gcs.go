// Package gcs is the driver for Google Cloud Storage.
//
// It speaks the JSON API itself: the official client brings gRPC and telemetry with it, and makes the program 28 MB larger. Credentials come from the official
// library. It knows checkpoint/storage/remote; checkpoint/storage/schemes knows it.
package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/fault"
)

// Schemes are those that the driver reads.
var Schemes = []string{"gs"}

// Options say where the buckets are. The zero value is Google.
type Options struct {
	Endpoint string // URL; "" is that of STORAGE_EMULATOR_HOST, which takes no credentials, or Google's
}

type driver struct {
	remote.Client
	base *url.URL
}

const readOnly = "https://www.googleapis.com/auth/devstorage.read_only"

// New makes a driver that sends its requests over t.
func New(o Options, t http.RoundTripper) (remote.API, error) {
	emulator := os.Getenv("STORAGE_EMULATOR_HOST")
	if emulator != "" && !strings.Contains(emulator, "://") {
		emulator = "http://" + emulator
	}
	base, err := url.Parse(cmp.Or(o.Endpoint, emulator, "https://storage.googleapis.com"))
	if err != nil || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("storage.gcs.endpoint: must be http:// or https:// and a host")
	}
	d := &driver{base: base}
	d.HTTP, d.Code = &http.Client{Transport: t}, code
	if o.Endpoint != "" || emulator == "" {
		d.Sign = (&tokens{http: d.HTTP}).sign
	}
	return d, nil
}

// tokens are asked for where Google's own tools look: the file of GOOGLE_APPLICATION_CREDENTIALS (also of a workload identity federation), gcloud's,
// the metadata server.
type tokens struct {
	http *http.Client

	mu     sync.Mutex
	source oauth2.TokenSource
}

func (t *tokens) sign(r *http.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source == nil {
		// The source outlives the request.
		ctx := context.WithValue(context.WithoutCancel(r.Context()), oauth2.HTTPClient, t.http)
		c, err := google.FindDefaultCredentials(ctx, readOnly)
		if err != nil {
			return err
		}
		t.source = c.TokenSource
	}
	token, err := t.source.Token()
	if err != nil {
		return err
	}
	token.SetAuthHeader(r)
	return nil
}

func code(body []byte) (string, string) {
	var answer struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Error.Errors) == 0 {
		return "", answer.Error.Message
	}
	return answer.Error.Errors[0].Reason, answer.Error.Message
}

// Place reads gs://bucket/key. Keys are not escaped, as Flink prints them.
func (d *driver) Place(uri string) (remote.Place, error) {
	_, rest, ok := strings.Cut(uri, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, "@:") {
		return remote.Place{}, fault.Unsupported("", -1, "an address of gs must be gs://bucket/key")
	}
	return remote.Place{Bucket: bucket, Key: strings.Trim(key, "/")}, nil
}

// at gives the address of an object, or of the listing of a bucket.
func (d *driver) at(p remote.Place, object bool, query url.Values) *url.URL {
	u := d.base.JoinPath("storage", "v1", "b", p.Bucket, "o")
	if object {
		u = u.JoinPath(url.PathEscape(p.Key)) // the slashes of a key are part of it
	}
	u.RawQuery = query.Encode()
	return u
}

// resource is what the API says of an object. Numbers are text in it.
type resource struct {
	Name, Size, Generation string
	Updated                time.Time
}

const fields = "name,size,generation,updated"

func (r resource) object() remote.Object {
	size, _ := strconv.ParseInt(r.Size, 10, 64)
	return remote.Object{Key: r.Name, Size: size, ModTime: r.Updated, Version: r.Generation, IsDir: strings.HasSuffix(r.Name, "/")}
}

func (d *driver) Stat(ctx context.Context, p remote.Place) (remote.Object, error) {
	var r resource
	err := d.JSON(ctx, d.at(p, true, url.Values{"fields": {fields}}), &r)
	return r.object(), err
}

// Get pins the generation: one that was replaced is not found, unless the bucket keeps old ones, which then are read as they were.
func (d *driver) Get(ctx context.Context, p remote.Place, version string, off, n int64) (io.ReadCloser, remote.Object, error) {
	query := url.Values{"alt": {"media"}}
	if version != "" {
		query.Set("generation", version)
	}
	resp, size, err := d.Range(ctx, d.at(p, true, query), off, n, nil)
	if err != nil {
		return nil, remote.Object{}, err
	}
	return resp.Body, remote.Object{Key: p.Key, Size: size, Version: resp.Header.Get("X-Goog-Generation")}, nil
}

func (d *driver) List(ctx context.Context, dir remote.Place, page string) ([]remote.Object, string, error) {
	query := url.Values{"delimiter": {"/"}, "fields": {"nextPageToken,prefixes,items(" + fields + ")"}}
	if dir.Key != "" {
		query.Set("prefix", dir.Key+"/")
	}
	if page != "" {
		query.Set("pageToken", page)
	}
	var answer struct {
		Items         []resource
		Prefixes      []string
		NextPageToken string
	}
	if err := d.JSON(ctx, d.at(dir, false, query), &answer); err != nil {
		var r *remote.RefusalError
		if errors.As(err, &r) && r.Status == http.StatusNotFound {
			r.Code = remote.NoSuchBucket
		}
		return nil, "", err
	}
	var out []remote.Object
	for _, r := range answer.Items {
		out = append(out, r.object())
	}
	for _, p := range answer.Prefixes {
		out = append(out, remote.Object{Key: p, IsDir: true})
	}
	return out, answer.NextPageToken, nil
}

func (d *driver) Right(op remote.Op, p remote.Place) string {
	if op == remote.List {
		return "storage.objects.list on the bucket " + p.Bucket + " (the role Storage Object Viewer has it)"
	}
	return "storage.objects.get on the bucket " + p.Bucket + " (the role Storage Object Viewer has it)"
}
