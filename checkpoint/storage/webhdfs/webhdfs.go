// Package webhdfs is the driver for HDFS through its REST interface, WebHDFS or HttpFS.
//
// It logs in by a name, as HDFS without Kerberos asks for, or by a delegation token; Kerberos itself is not spoken. HDFS cannot be asked for one version of a
// file, so each read looks at the file first. It knows checkpoint/storage/remote; checkpoint/storage/schemes knows it.
package webhdfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/fault"
)

// Schemes are those that the driver reads. An address of hdfs says nothing of the REST interface, so it needs Options.Address.
var Schemes = []string{"hdfs", "webhdfs", "swebhdfs"}

// Options say where the interface is and who asks.
type Options struct {
	Address   string // URLs of the NameNodes' REST interfaces, with commas between; "" takes the host of webhdfs and swebhdfs addresses
	User      string // "" is that of HADOOP_USER_NAME, or who runs the program
	TokenFile string // file with a delegation token
}

type driver struct {
	remote.Client
	options Options
	active  atomic.Int32 // the NameNode that answered last, of several
	recent  recent
}

// New makes a driver that sends its requests over t.
func New(o Options, t http.RoundTripper) (remote.API, error) {
	d := &driver{options: o}
	d.HTTP = &http.Client{Transport: t}
	d.Code = code
	for _, a := range d.addresses() {
		if u, err := url.Parse(a); err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("storage.hdfs.address: must be http:// or https:// and a host, several with commas between")
		}
	}
	if d.options.User == "" {
		d.options.User = os.Getenv("HADOOP_USER_NAME")
	}
	if who, err := user.Current(); err == nil && d.options.User == "" {
		d.options.User = who.Username
	}
	return d, nil
}

func (d *driver) addresses() []string {
	return strings.FieldsFunc(d.options.Address, func(c rune) bool { return c == ',' || c == ' ' })
}

// exception is what the interface answers besides success.
type exception struct {
	RemoteException struct{ Exception, Message string }
}

func code(body []byte) (string, string) {
	var e exception
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	message, _, _ := strings.Cut(e.RemoteException.Message, "\n")
	return e.RemoteException.Exception, message
}

// Place reads hdfs://nameservice/path and webhdfs://host:port/path. The bucket is scheme and host.
func (d *driver) Place(uri string) (remote.Place, error) {
	scheme, rest, _ := strings.Cut(uri, ":")
	rest, full := strings.CutPrefix(rest, "//")
	host, key, _ := strings.Cut(rest, "/")
	switch {
	case strings.Contains(host, "@"):
		return remote.Place{}, fault.Unsupported("", -1, "a user in an hdfs address is not read; use storage.hdfs.user")
	case d.options.Address != "":
	case scheme == "hdfs":
		return remote.Place{}, fault.Unsupported(uri, -1, "hdfs is read through WebHDFS; name its address with storage.hdfs.address, such as http://namenode:9870")
	case !full || host == "":
		return remote.Place{}, fault.Unsupported(uri, -1, "must be webhdfs://host:port/path")
	}
	return remote.Place{Bucket: strings.ToLower(scheme) + "://" + host, Key: strings.Trim(key, "/")}, nil
}

// at gives the address of an operation on a file.
func (d *driver) at(p remote.Place, namenode int, op string, more url.Values) (*url.URL, error) {
	base := strings.Replace(strings.Replace(p.Bucket, "swebhdfs://", "https://", 1), "webhdfs://", "http://", 1)
	if all := d.addresses(); len(all) > 0 {
		base = all[namenode%len(all)]
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the host of an hdfs address is not one")
	}
	query := url.Values{"op": {op}}
	for name, v := range more {
		query[name] = v
	}
	if d.options.TokenFile != "" {
		token, err := os.ReadFile(d.options.TokenFile)
		if err != nil {
			return nil, &remote.RefusalError{Status: http.StatusUnauthorized, Code: "no token", Message: err.Error()}
		}
		query.Set("delegation", strings.TrimSpace(string(token)))
	} else if d.options.User != "" {
		query.Set("user.name", d.options.User)
	}
	u = u.JoinPath("webhdfs", "v1")
	u.Path += "/" + p.Key
	u.RawQuery = query.Encode()
	return u, nil
}

// do asks the NameNode that answered last, and is refused by one on standby; then the next try asks another.
func (d *driver) do(p remote.Place, op string, more url.Values, send func(*url.URL) error) error {
	namenode := d.active.Load()
	u, err := d.at(p, int(namenode), op, more)
	if err != nil {
		return err
	}
	err = send(u)
	var r *remote.RefusalError
	switch {
	case err == nil:
	case errors.As(err, &r) && r.Code == "StandbyException" && len(d.addresses()) > 1:
		r.Again = true
		d.active.CompareAndSwap(namenode, namenode+1)
	case !errors.As(err, &r) && len(d.addresses()) > 1:
		d.active.CompareAndSwap(namenode, namenode+1)
	}
	return err
}

// status is what the interface says of a file.
type status struct {
	PathSuffix       string
	Type             string
	Length           int64
	ModificationTime int64
	FileID           int64 `json:"fileId"`
}

func (s status) object(key string) remote.Object {
	return remote.Object{Key: key, Size: s.Length, ModTime: time.UnixMilli(s.ModificationTime), IsDir: s.Type == "DIRECTORY",
		Version: strconv.FormatInt(s.FileID, 10) + "-" + strconv.FormatInt(s.ModificationTime, 10)}
}

func (d *driver) Stat(ctx context.Context, p remote.Place) (remote.Object, error) {
	o, err := d.look(ctx, p)
	if err == nil {
		d.recent.keep(p, o)
	}
	return o, err
}

func (d *driver) look(ctx context.Context, p remote.Place) (remote.Object, error) {
	var answer struct{ FileStatus status }
	err := d.do(p, "GETFILESTATUS", nil, func(u *url.URL) error { return d.JSON(ctx, u, &answer) })
	return answer.FileStatus.object(p.Key), err
}

// Get reads behind a redirection to a DataNode, whose answer tells neither version nor size of the whole.
func (d *driver) Get(ctx context.Context, p remote.Place, version string, off, n int64) (io.ReadCloser, remote.Object, error) {
	o, known := d.recent.take(p)
	var err error
	if !known {
		o, err = d.look(ctx, p)
	}
	switch {
	case err != nil:
		return nil, o, err
	case o.IsDir || version != "" && o.Version != version:
		return nil, o, &remote.RefusalError{Status: map[bool]int{true: http.StatusNotFound, false: http.StatusPreconditionFailed}[o.IsDir]}
	case off >= o.Size:
		return nil, o, &remote.RefusalError{Status: http.StatusRequestedRangeNotSatisfiable}
	}
	var resp *http.Response
	more := url.Values{"offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(min(n, o.Size-off), 10)}}
	err = d.do(p, "OPEN", more, func(u *url.URL) (err error) {
		resp, err = d.Do(ctx, http.MethodGet, u, nil) //nolint:bodyclose // the caller gets the body
		return err
	})
	if err != nil {
		return nil, o, err
	}
	return resp.Body, o, nil
}

func (d *driver) List(ctx context.Context, dir remote.Place, _ string) ([]remote.Object, string, error) {
	var answer struct {
		FileStatuses struct{ FileStatus []status }
	}
	if err := d.do(dir, "LISTSTATUS", nil, func(u *url.URL) error { return d.JSON(ctx, u, &answer) }); err != nil {
		return nil, "", err
	}
	var out []remote.Object
	for _, s := range answer.FileStatuses.FileStatus {
		if s.PathSuffix != "" { // else it is a file, of which a listing gives itself
			out = append(out, s.object(strings.TrimPrefix(dir.Key+"/"+s.PathSuffix, "/")))
		}
	}
	return out, "", nil
}

func (d *driver) Right(op remote.Op, p remote.Place) string {
	text := fmt.Sprintf("the right of %s to read /%s and to pass the directories above it", d.who(), p.Key)
	if op == remote.List {
		text += ", and to list it"
	}
	return text + "; with Kerberos it takes a delegation token in storage.hdfs.token_file"
}

func (d *driver) who() string {
	if d.options.TokenFile != "" {
		return "the token's owner"
	}
	return "the user " + d.options.User
}
