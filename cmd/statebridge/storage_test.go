package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage/schemes"
	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
	"github.com/statebridge/statebridge/cmd/statebridge/demodata"
	"github.com/statebridge/statebridge/config"
)

const bucket = "flink"

// login gives the program the credentials of a test's server, and none of the machine's.
func login(t *testing.T, endpoint string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", storagetest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storagetest.Secret)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("STATEBRIDGE_STORAGE_S3_ENDPOINT", endpoint)
}

// program runs a command line and gives what it printed.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.WithoutCancel(t.Context()), args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := program(t, args...)
	if code != 0 {
		t.Fatalf("statebridge %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

func sortedLines(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// TestS3EqualsLocal: real snapshots of every backend give the same over S3 as from the disk.
func TestS3EqualsLocal(t *testing.T) {
	server := storagetest.StartS3(t, bucket)
	login(t, server.URL)
	for archive, s := range map[string]struct{ base, next string }{
		fixture.RocksDB:          {"checkpoints/*/chk-1", "checkpoints/*/chk-5"},
		fixture.Heap:             {"checkpoints/*/chk-1", "checkpoints/*/chk-4"},
		fixture.Canonical:        {"sp-1/*", "sp-2/*"},
		fixture.ChangelogRocksDB: {"checkpoints/*/chk-1", "checkpoints/*/chk-2"},
		fixture.ForSt:            {"checkpoints/*/chk-1", "checkpoints/*/chk-1"},
	} {
		t.Run(archive, func(t *testing.T) {
			dir := fixture.Unpack(t, archive)
			server.Upload(t, bucket, archive, dir)
			local := func(pattern string) string { return fixture.One(t, dir, pattern) }
			remote := func(pattern string) string {
				return "s3a://" + bucket + "/" + archive + strings.TrimPrefix(filepath.ToSlash(local(pattern)), filepath.ToSlash(dir))
			}
			for _, args := range [][]string{
				{"export", s.next}, {"diff", s.base, s.next}, {"inspect", s.next, "--rows", "exact"}, {"compat", s.base, s.next},
			} {
				both := [2][]string{slices.Clone(args), slices.Clone(args)}
				for i, a := range args {
					if strings.Contains(a, "*") {
						both[0][i], both[1][i] = local(a), remote(a)
					}
				}
				want, got := succeed(t, both[0]...), succeed(t, both[1]...)
				want = strings.ReplaceAll(want, dir, "s3a://"+bucket+"/"+archive)
				if want == "" && s.base != s.next || !slices.Equal(sortedLines(got), sortedLines(want)) {
					t.Errorf("%s: %d bytes over S3, %d from the disk, or they differ", strings.Join(args, " "), len(got), len(want))
				}
			}
		})
	}
}

// TestS3Get looks one key up, and says what is not there.
func TestS3Get(t *testing.T) {
	server := storagetest.StartS3(t, bucket)
	login(t, server.URL)
	dir := t.TempDir()
	at := uploadDemo(t, server, dir, 5)
	local := succeed(t, "get", filepath.Join(dir, at), "--operator", "accounts-op", "--state", "balance", "--key", "2")
	if got := succeed(t, "get", "s3://flink/cp/"+at, "--operator", "accounts-op", "--state", "balance", "--key", "2"); got != local || got == "" {
		t.Errorf("%q, and %q from the disk", got, local)
	}
	for snapshot, want := range map[string]string{
		"s3://flink/cp/" + path.Dir(at): "below it the newest is s3://flink/cp/" + at,
		"s3://flink/none":               "not a snapshot",
		"s3://nowhere/cp":               "",
		"ftp://flink/cp":                `storage "ftp" is not supported`,
	} {
		if out, errs, code := program(t, "inspect", snapshot); code != 1 || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: exit code %d: %s", snapshot, code, errs)
		}
	}
}

// TestS3WrongCredentials: no right would help, so none is named.
func TestS3WrongCredentials(t *testing.T) {
	server := storagetest.StartS3(t, bucket)
	for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		login(t, server.URL)
		t.Setenv(variable, "wrong")
		_, errs, exit := program(t, "inspect", "s3://flink/cp")
		if exit != 1 || !strings.Contains(errs, "check the access key") || strings.Contains(errs, "it takes") {
			t.Errorf("%s: exit code %d: %s", variable, exit, errs)
		}
	}
}

// uploadDemo uploads the demo's checkpoints 1 to n below cp/, and gives the last one's path there. Only what is new is stored.
func uploadDemo(t *testing.T, server *storagetest.S3, dir string, n int) string {
	t.Helper()
	all, err := demodata.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all[:n] {
		if err := s.Arrive(dir); err != nil {
			t.Fatal(err)
		}
	}
	server.Upload(t, bucket, "cp", dir)
	return all[n-1].Path
}

const mirror = `
source: {name: bank, flink: {checkpoints: "%s"}}
consumers:
  - {name: accounts, operator: accounts-op, state: balance, columns: {id: key, balance: value}}
sinks:
  - {name: local, consumers: [accounts], sqlite: {path: "%s/bank.db"}}
data_dir: "%s/data"
log: {level: warn}
`

func writeMirror(t *testing.T, dir, checkpoints string) string {
	t.Helper()
	file := filepath.Join(dir, "bank.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, mirror, checkpoints, dir, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestS3Mirror: run follows a job whose checkpoints lie in S3, its pins outlive the objects, and only what is new is fetched.
func TestS3Mirror(t *testing.T) {
	server, dir := storagetest.StartS3(t, bucket), t.TempDir()
	proxy := storagetest.StartFaults(t, server.URL)
	login(t, proxy.URL)
	file, cp := writeMirror(t, dir, "s3://flink/cp"), filepath.Join(dir, "cp")
	for n := 1; n <= 5; n++ {
		at := uploadDemo(t, server, cp, n)
		if n == 3 { // the base of the next diff is gone from the bucket
			server.DeleteBelow(t, bucket, "cp/"+path.Dir(at)+"/chk-")
			uploadDemo(t, server, cp, n)
		}
		proxy.Next(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/cp/") }, storagetest.Status(503), proxy.Halve, storagetest.Cut)
		succeed(t, "run", "--once", "--config", file)
		if want, got := expected(t, filepath.Join(cp, at)), sqliteRows(t, filepath.Join(dir, "bank.db")); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("after checkpoint %d: %d rows in the table, %d in the snapshot, or they differ", n, len(got), len(want))
		}
	}
}

// expected gives the rows of the table that a checkpoint of the demo must hold, by the fold of the job's script.
func expected(t *testing.T, at string) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("demodata", "testdata", path.Base(at)+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var r struct {
			State      string
			Key, Value int64
		}
		if strings.Contains(line, `"state":"balance"`) {
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf("%d %d", r.Key, r.Value))
		}
	}
	slices.Sort(rows)
	return rows
}

func sqliteRows(t *testing.T, file string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.QueryContext(t.Context(), `SELECT id || ' ' || balance FROM accounts`)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
		var row string
		if err := r.Scan(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

func TestSchemes(t *testing.T) {
	if !slices.Equal(config.Schemes, schemes.Known()) {
		t.Errorf("the config knows %v, the stores are of %v", config.Schemes, schemes.Known())
	}
}

// TestCache: a command that comes again asks for no byte of a file that it has read, and whatever happens to the cache it prints the same.
func TestCache(t *testing.T) {
	server, dir := storagetest.StartS3(t, bucket), t.TempDir()
	proxy := storagetest.StartFaults(t, server.URL)
	login(t, proxy.URL)
	t.Setenv("STATEBRIDGE_STORAGE_CACHE", filepath.Join(dir, "cache"))
	at := uploadDemo(t, server, filepath.Join(dir, "cp"), 5)
	gets := 0
	export := func() (string, int) {
		gets = 0
		proxy.Next(func(r *http.Request) bool {
			if r.Method == http.MethodGet && r.Header.Get("Range") != "" && !strings.HasSuffix(r.URL.Path, "_metadata") {
				gets++
			}
			return false
		}, nil)
		return succeed(t, "export", "s3://flink/cp/"+at), gets
	}
	first, cold := export()
	second, warm := export()
	if first == "" || second != first || cold == 0 || warm*4 > cold {
		t.Errorf("%d requests for ranges, then %d; equal: %t", cold, warm, first == second)
	}
	if err := os.RemoveAll(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	if third, again := export(); third != first || again != cold {
		t.Errorf("without the cache %d requests, equal: %t", again, third == first)
	}
}
