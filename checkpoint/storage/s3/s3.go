// Package s3 is the driver for Amazon S3 and for what speaks its protocol: MinIO, Ceph, R2, OSS and others.
//
// It reads the addresses of all of Flink's and Hadoop's file systems: s3, s3a, s3n and s3p, which differ in the library that writes and in nothing
// that is stored. It knows checkpoint/storage/remote; checkpoint/storage/schemes knows it.
package s3

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/fault"
)

// Schemes are those that the driver reads.
var Schemes = []string{"s3", "s3a", "s3n", "s3p"}

// Options say where the buckets are. The zero value is Amazon.
type Options struct {
	Endpoint  string // URL, or host and port; "" is that of AWS_ENDPOINT_URL_S3, of AWS_ENDPOINT_URL, or Amazon's
	Region    string // "" is that of AWS_REGION, of AWS_DEFAULT_REGION, or the bucket's, which is then asked for
	PathStyle string // "true": the bucket stands in the path, "false": in the host name; else as the endpoint's host suggests
}

type driver struct {
	core  minio.Core
	creds *chain
}

// New makes a driver that sends its requests over t.
func New(o Options, t http.RoundTripper) (remote.API, error) {
	host, secure, err := endpoint(cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, err
	}
	creds := newChain(t)
	c, err := minio.New(host, &minio.Options{
		Creds: creds.credentials(), Secure: secure, Transport: t, BucketLookup: lookup(o.PathStyle), MaxRetries: 1,
		Region: cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, fmt.Errorf("storage.s3.endpoint: %w", err)
	}
	return &driver{core: minio.Core{Client: c}, creds: creds}, nil
}

// endpoint does not repeat the text, in which a password may stand.
func endpoint(text string) (host string, secure bool, err error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, fmt.Errorf("storage.s3.endpoint: must be http:// or https:// with a host and nothing behind it")
	}
	return u.Host, u.Scheme == "https", nil
}

func lookup(pathStyle string) minio.BucketLookupType {
	switch pathStyle {
	case "true":
		return minio.BucketLookupPath
	case "false":
		return minio.BucketLookupDNS
	}
	return minio.BucketLookupAuto
}

// Place reads s3://bucket/key. Keys are not escaped, as Flink prints them.
func (d *driver) Place(uri string) (remote.Place, error) {
	_, rest, ok := strings.Cut(uri, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(bucket, "@"):
		return remote.Place{}, fault.Unsupported("", -1, "credentials in an s3 address are not read; use the environment or a credentials file")
	case !ok || bucket == "":
		return remote.Place{}, fault.Unsupported(uri, -1, "must be s3://bucket/key")
	}
	return remote.Place{Bucket: bucket, Key: strings.Trim(key, "/")}, nil
}

func (d *driver) Stat(ctx context.Context, p remote.Place) (remote.Object, error) {
	o, err := d.core.StatObject(ctx, p.Bucket, p.Key, minio.StatObjectOptions{})
	return object(o), d.refusal(err)
}

func (d *driver) Get(ctx context.Context, p remote.Place, version string, off, n int64) (io.ReadCloser, remote.Object, error) {
	o := minio.GetObjectOptions{}
	o.Set("Range", remote.Range(off, n))
	if version != "" {
		if err := o.SetMatchETag(version); err != nil {
			return nil, remote.Object{}, err
		}
	}
	body, info, header, err := d.core.GetObject(ctx, p.Bucket, p.Key, o)
	if err != nil {
		return nil, remote.Object{}, d.refusal(err)
	}
	whole := object(info)
	if whole.Size, err = remote.Size(header, off); err != nil {
		body.Close()
		return nil, remote.Object{}, err
	}
	return body, whole, nil
}

func object(o minio.ObjectInfo) remote.Object {
	return remote.Object{Key: o.Key, Size: o.Size, ModTime: o.LastModified, Version: o.ETag, IsDir: strings.HasSuffix(o.Key, "/")}
}

// List gives all at once: the client pages by itself.
func (d *driver) List(ctx context.Context, dir remote.Place, _ string) ([]remote.Object, string, error) {
	prefix, owner := dir.Key, false
	if prefix != "" {
		prefix += "/"
	}
	var out []remote.Object
	for o := range d.core.ListObjectsIter(ctx, dir.Bucket, minio.ListObjectsOptions{Prefix: prefix, FetchOwner: &owner}) {
		if o.Err != nil {
			return nil, "", d.refusal(o.Err)
		}
		remote.Alive(ctx)
		out = append(out, object(o))
	}
	return out, "", ctx.Err()
}

func (d *driver) Right(op remote.Op, p remote.Place) string {
	right, on := "s3:GetObject", p.Bucket+"/"+p.Key
	if op == remote.List {
		right, on = "s3:ListBucket", p.Bucket
	}
	text := right + " on arn:aws:s3:::" + on
	if op == remote.Stat {
		text += " (and s3:ListBucket on the bucket, without which a missing object counts as a forbidden one)"
	}
	if why := d.creds.missing(); why != nil {
		text += fmt.Sprintf("; the request was anonymous, since there are no credentials: %v", why)
	}
	return text
}

// notThere are the codes by which a 404 says that an object or a bucket does not exist. Some servers have it for a user, too.
var notThere = []string{"NoSuchKey", "NoSuchVersion", "NotFound", remote.NoSuchBucket}

// notAccepted are the codes by which S3, and last the gateway of Versity, say that the access key, the secret or the token is wrong.
var notAccepted = []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired", "XAdminUserNotFound"}

// refusal turns the client's errors into what remote knows.
func (d *driver) refusal(err error) error {
	r := minio.ToErrorResponse(err)
	if r.StatusCode == 0 {
		return err
	}
	if r.StatusCode == http.StatusNotFound && !slices.Contains(notThere, r.Code) {
		r.StatusCode = http.StatusUnauthorized
	}
	again := r.Region != "" && (r.Code == "AuthorizationHeaderMalformed" || r.Code == "InvalidRegion") // the client has learnt the region now
	return &remote.RefusalError{Status: r.StatusCode, Code: r.Code, Message: r.Message, Unknown: slices.Contains(notAccepted, r.Code),
		Again: again || r.Code == "SlowDown" || r.Code == "RequestTimeout"}
}
