package webhdfs_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage/remote"
	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
	"github.com/statebridge/statebridge/checkpoint/storage/webhdfs"
	"github.com/statebridge/statebridge/fault"
)

// namenode answers as the documentation of WebHDFS describes, over a directory: it is no HDFS, of which none runs in the tests.
type namenode struct {
	dir     string
	standby bool
	asked   []string // users and tokens
	looks   int      // at files
}

type object = map[string]any

func (n *namenode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n.asked = append(n.asked, q.Get("user.name")+q.Get("delegation"))
	file := filepath.Join(n.dir, filepath.FromSlash(strings.TrimPrefix(r.URL.Path, "/webhdfs/v1")))
	fi, err := os.Stat(file)
	switch {
	case n.standby:
		refuse(w, http.StatusForbidden, "StandbyException")
	case q.Get("user.name") == "nobody":
		refuse(w, http.StatusForbidden, "AccessControlException")
	case err != nil:
		refuse(w, http.StatusNotFound, "FileNotFoundException")
	case q.Get("op") == "GETFILESTATUS":
		n.looks++
		answer(w, object{"FileStatus": status("", fi)})
	case q.Get("op") == "LISTSTATUS":
		n.list(w, file)
	case q.Get("op") == "OPEN" && q.Get("datanode") == "":
		q.Set("datanode", "1")
		http.Redirect(w, r, r.URL.EscapedPath()+"?"+q.Encode(), http.StatusTemporaryRedirect)
	case q.Get("op") == "OPEN":
		n.open(w, file, q.Get("offset"), q.Get("length"))
	default:
		refuse(w, http.StatusBadRequest, "IllegalArgumentException")
	}
}

func (n *namenode) list(w http.ResponseWriter, dir string) {
	entries, _ := os.ReadDir(dir)
	list := []object{}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			list = append(list, status(path.Base(e.Name()), fi))
		}
	}
	answer(w, object{"FileStatuses": object{"FileStatus": list}})
}

func (n *namenode) open(w http.ResponseWriter, file, offset, length string) {
	b, _ := os.ReadFile(file)
	off, _ := strconv.Atoi(offset)
	size, _ := strconv.Atoi(length)
	_, _ = w.Write(b[off : off+size])
}

func status(name string, fi fs.FileInfo) object {
	kind, size := "FILE", fi.Size()
	if fi.IsDir() {
		kind, size = "DIRECTORY", 0
	}
	return object{"pathSuffix": name, "type": kind, "length": size, "modificationTime": fi.ModTime().UnixMilli(), "fileId": fi.ModTime().UnixNano()}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code int, exception string) {
	w.WriteHeader(code)
	answer(w, object{"RemoteException": object{"exception": exception, "message": exception + ": no\nat stack"}})
}

func start(t *testing.T) (*namenode, string) {
	t.Helper()
	n := &namenode{dir: t.TempDir()}
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	return n, s.URL
}

func open(t *testing.T, o webhdfs.Options) *remote.Store {
	t.Helper()
	api, err := webhdfs.New(o, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return remote.New(api, remote.Options{Pause: time.Millisecond, Requests: 1}) // the test server is not for several at once
}

func (n *namenode) put(t *testing.T, key string, content []byte) {
	t.Helper()
	file := filepath.Join(n.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	n, url := start(t)
	for _, base := range []string{"hdfs://nameservice/base", "hdfs:///base"} {
		n.dir = t.TempDir()
		storagetest.Suite(t, &storagetest.Target{
			Store: open(t, webhdfs.Options{Address: url}), Base: base,
			Put: func(key string, content []byte) { n.put(t, "base/"+key, content) },
			Delete: func(key string) {
				if err := os.Remove(filepath.Join(n.dir, "base", key)); err != nil {
					t.Error(err)
				}
			},
		})
	}
	n.put(t, "base/file", []byte("x"))
	if b, err := open(t, webhdfs.Options{}).ReadFile(t.Context(), "webhdfs"+strings.TrimPrefix(url, "http")+"/base/file", 10); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestLogin: a name, or a token, which is in no message.
func TestLogin(t *testing.T) {
	n, url := start(t)
	n.put(t, "file", []byte("x"))
	_, err := open(t, webhdfs.Options{Address: url, User: "nobody"}).ReadFile(t.Context(), "hdfs://a/file", 10)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "the user nobody") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("hidden-word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := open(t, webhdfs.Options{Address: url, TokenFile: file})
	if b, err := store.ReadFile(t.Context(), "hdfs://a/file", 10); err != nil || string(b) != "x" || n.asked[len(n.asked)-1] != "hidden-word" {
		t.Errorf("%q, %v", b, err)
	}
	down := open(t, webhdfs.Options{Address: "http://127.0.0.1:1", TokenFile: file})
	if _, err := down.ReadFile(t.Context(), "hdfs://a/file", 10); err == nil || strings.Contains(err.Error(), "hidden-word") {
		t.Error(err)
	}
}

// TestStandby: of two NameNodes the active one is asked, whichever that is at the time.
func TestStandby(t *testing.T) {
	one, url1 := start(t)
	two, url2 := start(t)
	two.dir, one.standby = one.dir, true
	one.put(t, "file", []byte("x"))
	store := open(t, webhdfs.Options{Address: url1 + ", " + url2})
	for range 3 {
		if b, err := store.ReadFile(t.Context(), "hdfs://ha/file", 10); err != nil || string(b) != "x" {
			t.Errorf("%q, %v", b, err)
		}
		one.standby, two.standby = two.standby, one.standby
	}
}

func TestRefused(t *testing.T) {
	for _, uri := range []string{"hdfs://nameservice/file", "webhdfs:/file", "webhdfs://user:secret@host/file"} {
		if _, err := open(t, webhdfs.Options{}).Open(t.Context(), uri); !errors.Is(err, fault.ErrUnsupported) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := webhdfs.New(webhdfs.Options{Address: "namenode:9870"}, http.DefaultTransport); err == nil {
		t.Error("an address without a scheme is taken")
	}
}

// TestLooks: a file that is opened and read is looked at once, and once more for each further read, which notices that it was replaced.
func TestLooks(t *testing.T) {
	n, url := start(t)
	n.put(t, "file", []byte("0123456789"))
	f, err := open(t, webhdfs.Options{Address: url}).Open(t.Context(), "hdfs://a/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 5)
	for reads := 1; reads <= 3; reads++ {
		if err := f.ReadAt(t.Context(), b, 5); err != nil || string(b) != "56789" || n.looks != reads {
			t.Errorf("%q, looked at %d times for %d reads: %v", b, n.looks, reads, err)
		}
	}
	other := filepath.Join(n.dir, "file")
	if err := os.Chtimes(other, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadAt(t.Context(), b, 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was replaced is read on: %v", err)
	}
}
