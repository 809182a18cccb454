package flink

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/state"
)

var update = flag.Bool("update", false, "rewrite golden files")

// unzip gives the files of testdata/name.zip.
func unzip(t testing.TB, name string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(filepath.Join("testdata", name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// snapshot is a fixture unpacked into a directory.
type snapshot struct {
	*Metadata
	files map[string][]byte
	open  Opener
}

func openFixture(t testing.TB, name string) *snapshot {
	t.Helper()
	s, dir := &snapshot{files: unzip(t, name)}, t.TempDir()
	for n, b := range s.files {
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if s.Metadata, err = ReadMetadata(name+"/_metadata", s.files["_metadata"]); err != nil {
		t.Fatal(err)
	}
	s.open = NewResolver(storage.Local(), dir, nil).Open
	return s
}

func (s *snapshot) options() state.Options { return state.Options{Kryo5: s.Kryo5()} }

// keyGroups opens the first stream of key groups of the operator that has the given state; "" is any.
func (s *snapshot) keyGroups(t testing.TB, stateName string) (k *KeyGroups, stateID int) {
	t.Helper()
	for _, o := range s.Operators {
		for _, sub := range o.Subtasks {
			h, ok := sub.ManagedKeyed.(*KeyGroupsHandle)
			if !ok {
				continue
			}
			k, err := OpenKeyGroups(context.Background(), h, s.open, s.options(), o.MaxParallelism)
			if err != nil {
				t.Fatal(err)
			}
			for id, schema := range k.Meta().States {
				if schema.Name == stateName || stateName == "" {
					return k, id
				}
			}
			k.Close()
		}
	}
	t.Fatalf("no state %q", stateName)
	return nil, 0
}

// row makes rows comparable: members by name, numbers as they are written.
func row(t testing.TB, line []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

// expected gives the rows that must be there and those that may (expired ones), and how often each.
func (s *snapshot) expected(t testing.TB) (must, may map[string]int) {
	must, may = map[string]int{}, map[string]int{}
	for line := range bytes.Lines(s.files["expected.jsonl"]) {
		v := row(t, line)
		if uid, ok := v["operator_uid"].(string); ok {
			v["operator_id"] = state.OperatorID(uid)
		}
		into := must
		if v["expired"] == true {
			into = may
		}
		for _, m := range []string{"operator_uid", "expired", "ttl_ts_min", "ttl_ts_max"} {
			delete(v, m)
		}
		into[marshal(t, v)]++
	}
	return must, may
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// render prints an entry as an expected row does.
func render(t testing.TB, operatorID string, s *state.Schema, r *state.Row, e Entry) string {
	t.Helper()
	if err := s.DecodeKey(r, e.Key); err != nil {
		t.Fatal(err)
	}
	if err := s.DecodeValue(r, e.Value); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`{"operator_id":` + marshal(t, operatorID) + `,"state":` + marshal(t, s.Name) + `,"kind":` + marshal(t, s.Kind))
	for _, m := range []struct {
		name string
		json []byte
	}{{"key", r.Key}, {"namespace", r.Namespace}, {"map_key", r.MapKey}, {"value", r.Value}} {
		if m.json != nil {
			b.WriteString(`,"` + m.name + `":` + string(m.json))
		}
	}
	return marshal(t, row(t, []byte(b.String()+"}")))
}

// golden compares got with a file of testdata, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change. Got:\n%s", file, got)
	}
}
