package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	corpusName = regexp.MustCompile("`(flink[12]-[a-z0-9_]+)`")
)

// Every test and every snapshot that the table of what is read names exists.
func TestSupportIsTested(t *testing.T) {
	page := read(t, "support.md")
	namesTests(t, page, 40)
	namesSnapshots(t, page)
}

// Every test and every snapshot that the table of faults names exists.
func TestCasesAreTested(t *testing.T) {
	page := read(t, "internals/cases.md")
	namesTests(t, page, 40)
	namesSnapshots(t, page)
}

func namesSnapshots(t *testing.T, page string) {
	t.Helper()
	for _, m := range corpusName.FindAllStringSubmatch(page, -1) {
		if found, _ := filepath.Glob("../e2e/corpus/testdata/" + m[1] + ".tar.gz"); len(found) != 1 {
			t.Errorf("there is no snapshot %s", m[1])
		}
	}
}

// Every test that a promise names exists.
func TestGuaranteesAreTested(t *testing.T) {
	namesTests(t, read(t, "guarantees.md"), 40)
}

// namesTests checks that a page names at least so many tests, all of which exist.
func namesTests(t *testing.T, page string, least int) {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
				tests[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := testName.FindAllStringSubmatch(page, -1)
	for _, m := range names {
		if !tests[m[1]] && m[1] != "TestX" {
			t.Errorf("there is no test %s", m[1])
		}
	}
	if len(names) < least {
		t.Errorf("only %d tests are named", len(names))
	}
}
