package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Lines of Flink that the job is built for, by version; the names are those of its Maven profiles.
var lines = map[string]string{"1.20.5": "flink1", "2.3.0": "flink2"}

// BuildFlink builds the job for a version of Flink, unless that has been done since its sources changed, and returns the name of its line.
// Test processes that run at the same time wait for each other.
func BuildFlink(t testing.TB, version string) string {
	t.Helper()
	line, ok := lines[version]
	if !ok {
		t.Fatalf("no job for Flink %s", version)
	}
	dir := filepath.Join(repository(t), "e2e", "flink")
	defer lock(t, filepath.Join(dir, ".lock"))()

	want := sources(t, dir)
	stamp := filepath.Join(dir, "target-"+line, "stamp")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return line
	}
	mvn := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-P", line, "package")
	mvn.Dir = dir
	if out, err := mvn.CombinedOutput(); err != nil {
		t.Fatalf("build the job for Flink %s: %v\n%s", version, err, out)
	}
	if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	return line
}

// binary is built once a process; Main removes it.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "statebridge-e2e-")
	return filepath.Join(dir, "statebridge"), err
})

var compile = sync.OnceValues(func() ([]byte, error) {
	bin, err := binary()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(context.Background(), "go", "build", "-o", bin, "github.com/statebridge/statebridge/cmd/statebridge").CombinedOutput()
})

// Build compiles the statebridge command, once for all tests of the process, and returns the path of the binary.
func Build(t testing.TB) string {
	t.Helper()
	if out, err := compile(); err != nil {
		t.Fatalf("build statebridge: %v\n%s", err, out)
	}
	bin, _ := binary()
	return bin
}

// Main runs a test binary's tests and removes what Build has left.
func Main(m *testing.M) int {
	code := m.Run()
	bin, err := binary()
	if err == nil {
		err = os.RemoveAll(filepath.Dir(bin))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// repository is the folder of go.mod, above the test's own.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the working directory")
	return ""
}

// sources is a hash of all that the build of the job reads.
func sources(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "target-"):
			return fs.SkipDir
		case filepath.Ext(path) != ".java" && d.Name() != "pom.xml":
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h.Write([]byte(path + "\n"))
		_, err = io.Copy(h, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lock holds a file against other processes until the returned function is called.
func lock(t testing.TB, path string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}
