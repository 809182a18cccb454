// Package docs_test checks what the pages say as far as a program can.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/config"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// Every relative link of a page leads to a file.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link to %s leads nowhere", page, m[1])
			}
		}
	}
}

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every whole config on a page is one.
func TestConfigs(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(m[1], "source:") {
				continue
			}
			found++
			if _, err := config.Parse([]byte(m[1]), environ, nil); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("%d configs found", found)
	}
}

func environ(name string) (string, bool) {
	switch name {
	case "DATABASE_URL":
		return "postgres://localhost/bank", true
	case "REDIS_URL":
		return "redis://localhost", true
	}
	return "", false
}

func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			list = append(list, path)
		}
		return err
	})
	if err != nil || len(list) < 10 {
		t.Fatal(list, err)
	}
	return list
}

func read(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
