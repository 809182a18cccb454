package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/*.tar.gz
var packed embed.FS

// A Scenario is a job and the snapshots that were taken of it, oldest first.
type Scenario struct {
	Name      string // flink1-customers_heap
	Dir       string
	Snapshots []Snapshot
}

// A Snapshot is a checkpoint or savepoint, and the rows that it must hold.
type Snapshot struct {
	Name     string // of the scenario and the snapshot's folder
	Path     string
	Expected string // a gzipped file of JSON lines
	Kind     string // checkpoint, checkpoint-full, savepoint-canonical or savepoint-native
}

// Open unpacks the scenarios whose names match one of the patterns, as path.Match has them, into a folder of the test. No pattern: all.
func Open(t testing.TB, patterns ...string) []Scenario {
	t.Helper()
	files, err := packed.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var all []Scenario
	dir := t.TempDir()
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".tar.gz")
		if !matches(t, name, patterns) {
			continue
		}
		b, err := packed.ReadFile("testdata/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := unpack(b, to); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		all = append(all, read(t, name, to))
	}
	if len(all) == 0 {
		t.Fatalf("no scenario matches %q", patterns)
	}
	return all
}

func matches(t testing.TB, name string, patterns []string) bool {
	t.Helper()
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		if ok {
			return true
		}
	}
	return len(patterns) == 0
}

// Read reads the scenario in a folder: scenario.json and what it names.
func Read(t testing.TB, dir string) Scenario {
	t.Helper()
	return read(t, filepath.Base(dir), dir)
}

func read(t testing.TB, name, dir string) Scenario {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "scenario.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Snapshots []struct{ Path, Kind, Expected string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("%s: scenario.json: %v", name, err)
	}
	s := Scenario{Name: name, Dir: dir}
	for _, f := range file.Snapshots {
		expected := filepath.Join(dir, f.Expected)
		if !strings.HasSuffix(expected, ".gz") {
			expected += ".gz"
		}
		s.Snapshots = append(s.Snapshots, Snapshot{
			Name: name + "/" + path.Base(f.Path), Path: filepath.Join(dir, f.Path), Expected: expected, Kind: f.Kind,
		})
	}
	return s
}

// unpack writes a scenario's files into dir, without the archive's first folder.
func unpack(b []byte, dir string) error {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/")
		to := filepath.Join(dir, filepath.FromSlash(name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			err = write(to, r)
		}
		if err != nil {
			return err
		}
	}
}

func write(to string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
