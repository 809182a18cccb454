package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage/s3"
	"github.com/statebridge/statebridge/checkpoint/storage/schemes"
	"github.com/statebridge/statebridge/checkpoint/storage/storagetest"
)

// TestS3Job serves the bucket that a real job wrote by Flink's own file system of S3, with a random part in each file's address: export and run
// give the rows that each checkpoint must hold.
func TestS3Job(t *testing.T) {
	server, dir := storagetest.StartS3(t, bucket), t.TempDir()
	login(t, server.URL)
	tree := filepath.Join(fixture.Unpack(t, fixture.S3), bucket)
	var job struct {
		Snapshots []struct{ Path, Expected string }
	}
	b, err := os.ReadFile(filepath.Join(tree, "scenario.json"))
	if err == nil {
		err = json.Unmarshal(b, &job)
	}
	if err != nil || len(job.Snapshots) != 2 {
		t.Fatalf("%d snapshots, %v", len(job.Snapshots), err)
	}
	uploadBut(t, server, tree, "checkpoints")
	file := filepath.Join(dir, "carts.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, cartsMirror, dir, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range job.Snapshots {
		server.Upload(t, bucket, s.Path, filepath.Join(tree, s.Path))
		all, totals := jobRows(t, filepath.Join(tree, s.Expected))
		if got := exported(t, "s3://"+path.Join(bucket, s.Path)); len(all) == 0 || !slices.Equal(got, all) {
			t.Errorf("%s: export gives %d rows, want %d, or they differ", s.Path, len(got), len(all))
		}
		succeed(t, "run", "--once", "--config", file)
		if got := sqliteRows(t, filepath.Join(dir, "carts.db")); len(totals) == 0 || !slices.Equal(got, totals) {
			t.Errorf("%s: the table has %q, want %q", s.Path, got, totals)
		}
	}
}

const cartsMirror = `
source: {name: shop, flink: {checkpoints: "s3://flink/checkpoints"}}
consumers:
  - {name: accounts, operator: carts, state: total, columns: {id: key, balance: value}}
sinks:
  - {name: local, consumers: [accounts], sqlite: {path: "%s/carts.db"}}
data_dir: "%s/data"
log: {level: warn}
`

// uploadBut uploads the directories of a bucket's tree but one.
func uploadBut(t *testing.T, server *storagetest.S3, tree, but string) {
	t.Helper()
	entries, err := os.ReadDir(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != but {
			server.Upload(t, bucket, e.Name(), filepath.Join(tree, e.Name()))
		}
	}
}

// jobRow is a row as a scenario lists it and export prints it.
type jobRow struct {
	UID    string          `json:"operator_uid"`
	State  string          `json:"state"`
	Key    string          `json:"key"`
	MapKey json.RawMessage `json:"map_key"`
	Value  json.RawMessage `json:"value"`
}

// jobRows gives all rows that a scenario lists, and those of the state that is mirrored as they lie in the table.
func jobRows(t *testing.T, file string) (all, totals []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows := decoded(t, json.NewDecoder(z))
	for _, r := range rows {
		if r.State == "total" {
			totals = append(totals, fmt.Sprintf("%s %s", r.Key, r.Value))
		}
	}
	slices.Sort(totals)
	return printed(rows), totals
}

func exported(t *testing.T, location string) []string {
	t.Helper()
	return printed(decoded(t, json.NewDecoder(strings.NewReader(succeed(t, "export", location, "--output", "jsonl")))))
}

func decoded(t *testing.T, d *json.Decoder) (rows []jobRow) {
	t.Helper()
	for d.More() {
		var r jobRow
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func printed(rows []jobRow) (lines []string) {
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s", r.UID, r.State, r.Key, r.MapKey, r.Value))
	}
	slices.Sort(lines)
	return lines
}

// TestS3JobPinnedOnce: the files of a checkpoint that is pinned are not looked for again at the places where copies of them might lie, and of those that are
// new only one is.
func TestS3JobPinnedOnce(t *testing.T) {
	server := storagetest.StartS3(t, bucket)
	proxy := storagetest.StartFaults(t, server.URL)
	login(t, proxy.URL)
	uploadBut(t, server, filepath.Join(fixture.Unpack(t, fixture.S3), bucket), "")
	store := schemes.New(schemes.Options{S3: s3.Options{Endpoint: proxy.URL, PathStyle: "auto", Region: "us-east-1"}})
	found, err := checkpoint.Discover(t.Context(), store, "s3://flink/checkpoints", "")
	if err != nil || len(found) != 2 {
		t.Fatalf("%d snapshots, %v", len(found), err)
	}
	keep, files := t.TempDir(), 0
	pins, err := checkpoint.OpenPins(keep, store)
	if err != nil {
		t.Fatal(err)
	}
	var requests []int
	for _, holder := range []string{"a", "b"} {
		proxy.Next(func(*http.Request) bool { return true })
		if _, err := pins.Take(t.Context(), holder, found[1], nil, checkpoint.Options{}); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, proxy.Requests())
		files = len(pinned(t, keep))
	}
	if files < 10 || requests[0] > files+16 || requests[1] != 1 {
		t.Errorf("%d requests for %d files, %d when all is there", requests[0], files, requests[1])
	}
}

func pinned(t *testing.T, keep string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(keep, "files", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
