// Package azure is the driver for Azure Blob Storage and Data Lake Storage Gen2, which is the same store with directories.
//
// It speaks the Blob service's REST API itself; the official client makes the program 5 MB larger. Tokens come from the official library.
// It knows checkpoint/storage/remote; checkpoint/storage/schemes knows it.
package azure

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/fault"
)

// Schemes are those that the driver reads: of Data Lake Storage, and of the older driver for blobs.
var Schemes = []string{"abfs", "abfss", "wasb", "wasbs"}

// Options say where the containers are. The zero value takes the account's host from each address.
type Options struct {
	Endpoint string // URL of the Blob service of one account, for private endpoints and emulators; "" is https://ACCOUNT.blob.core.windows.net
}

// apiVersion is a date by which the service tells its versions apart.
const apiVersion = "2021-12-02"

type driver struct {
	remote.Client
	endpoint *url.URL // nil: the account's
	sas      url.Values
}

// New makes a driver that sends its requests over t.
func New(o Options, t http.RoundTripper) (remote.API, error) {
	l := lookUp()
	d := &driver{sas: l.sas}
	d.HTTP, d.Code = &http.Client{Transport: t}, code
	if text := o.Endpoint; text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return nil, fault.Unsupported("", -1, "storage.azure.endpoint: must be http:// or https:// and a host, with the account's name where the service is no account's own")
		}
		d.endpoint = u
	}
	sign, err := l.signer(d.HTTP)
	if err != nil {
		return nil, err
	}
	d.Sign = func(r *http.Request) error {
		r.Header.Set("X-Ms-Version", apiVersion)
		r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
		return sign(r)
	}
	return d, nil
}

func code(body []byte) (string, string) {
	var answer struct{ Code, Message string }
	if xml.Unmarshal([]byte(strings.TrimPrefix(string(body), "\ufeff")), &answer) != nil {
		return "", ""
	}
	message, _, _ := strings.Cut(answer.Message, "\n") // behind it stand ids, and what was signed
	return containerCode(answer.Code), message
}

func containerCode(code string) string {
	if code == "ContainerNotFound" {
		return remote.NoSuchBucket
	}
	return code
}

// Place reads abfss://container@account.dfs.core.windows.net/key. The bucket is container@account's host.
func (d *driver) Place(uri string) (remote.Place, error) {
	_, rest, _ := strings.Cut(uri, "://")
	authority, key, _ := strings.Cut(rest, "/")
	container, host, ok := strings.Cut(authority, "@")
	if !ok || container == "" || host == "" || strings.ContainsAny(container+host, "@:?") {
		return remote.Place{}, fault.Unsupported("", -1, "an address of azure must be abfss://container@account.dfs.core.windows.net/path")
	}
	return remote.Place{Bucket: authority, Key: strings.Trim(key, "/")}, nil
}

// at gives the address of a blob, or of its container.
func (d *driver) at(p remote.Place, query url.Values) *url.URL {
	container, host, _ := strings.Cut(p.Bucket, "@")
	u := &url.URL{Scheme: "https", Host: strings.Replace(host, ".dfs.", ".blob.", 1), Path: "/"}
	if d.endpoint != nil {
		u = d.endpoint.JoinPath("/")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/" + container
	if p.Key != "" && query == nil {
		u.Path += "/" + p.Key
	}
	all := url.Values{}
	for _, values := range []url.Values{query, d.sas} {
		for name, v := range values {
			all[name] = v
		}
	}
	u.RawQuery = all.Encode()
	return u
}

func (d *driver) Stat(ctx context.Context, p remote.Place) (remote.Object, error) {
	resp, err := d.Do(ctx, http.MethodHead, d.at(p, nil), nil)
	if err != nil {
		return remote.Object{}, err
	}
	resp.Body.Close()
	return object(p, resp, resp.ContentLength), nil
}

func object(p remote.Place, resp *http.Response, size int64) remote.Object {
	modified, _ := http.ParseTime(resp.Header.Get("Last-Modified"))
	return remote.Object{Key: p.Key, Size: size, ModTime: modified, Version: resp.Header.Get("Etag"),
		IsDir: resp.Header.Get("X-Ms-Meta-Hdi_isfolder") == "true"}
}

func (d *driver) Get(ctx context.Context, p remote.Place, version string, off, n int64) (io.ReadCloser, remote.Object, error) {
	header := map[string]string{}
	if version != "" {
		header["If-Match"] = version
	}
	resp, size, err := d.Range(ctx, d.at(p, nil), off, n, header)
	if err != nil {
		return nil, remote.Object{}, err
	}
	return resp.Body, object(p, resp, size), nil
}

// page is an answer to a request for a listing.
type page struct {
	Blobs struct {
		Blob []struct {
			Name       string
			Properties struct {
				Size     int64  `xml:"Content-Length"`
				Modified string `xml:"Last-Modified"`
				Etag     string
				Type     string `xml:"ResourceType"`
			}
		}
		BlobPrefix []struct{ Name string }
	}
	NextMarker string
}

func (d *driver) List(ctx context.Context, dir remote.Place, marker string) ([]remote.Object, string, error) {
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "delimiter": {"/"}}
	if dir.Key != "" {
		query.Set("prefix", dir.Key+"/")
	}
	if marker != "" {
		query.Set("marker", marker)
	}
	var p page
	if err := d.XML(ctx, d.at(dir, query), nil, &p); err != nil {
		return nil, "", err
	}
	var out []remote.Object
	for _, b := range p.Blobs.Blob {
		modified, _ := http.ParseTime(b.Properties.Modified)
		out = append(out, remote.Object{Key: b.Name, Size: b.Properties.Size, ModTime: modified, Version: quoted(b.Properties.Etag),
			IsDir: b.Properties.Type == "directory"})
	}
	for _, b := range p.Blobs.BlobPrefix {
		out = append(out, remote.Object{Key: b.Name, IsDir: true})
	}
	return out, p.NextMarker, nil
}

// quoted gives an etag the form that it has in a header.
func quoted(etag string) string {
	if etag == "" || strings.HasPrefix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

func (d *driver) Right(op remote.Op, p remote.Place) string {
	text := "the role Storage Blob Data Reader on the container " + p.Bucket
	if op == remote.List {
		return text + ", or a shared access signature with the permissions read and list"
	}
	return text + ", or a shared access signature with the permission read"
}
