package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FieldError is one fault of a config.
type FieldError struct {
	Path   string // "sinks[0].redis.url"; "" is the file as a whole
	Line   int    // in the file; 0 where there is none
	Reason string // reads on from the path: "is required"
}

func (e *FieldError) Error() string {
	s := e.Reason
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Line > 0 {
		s += fmt.Sprintf(" (line %d)", e.Line)
	}
	return s
}

// faults gathers what is wrong. A path, and what lies below it, is named once: a value that could not be read is not reported as missing too.
type faults struct {
	list  []*FieldError
	lines map[string]int // where in the file each member stands; 0 for one that came from outside
}

func (f *faults) at(path string, line int, format string, args ...any) {
	if slices.ContainsFunc(f.list, func(e *FieldError) bool { return within(path, e.Path) }) {
		return
	}
	f.list = append(f.list, &FieldError{path, line, fmt.Sprintf(format, args...)})
}

func (f *faults) add(path, format string, args ...any) { f.at(path, f.line(path), format, args...) }

// line gives where a member stands, or for an absent one the nearest that holds it.
func (f *faults) line(path string) int {
	for path != "" {
		if n, ok := f.lines[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// required is what is wrong with a member that is absent or empty.
const required = "is required"

// unread reports whether a path holds what is no value of its kind. One that is absent or empty has been read.
func (f *faults) unread(path string) bool {
	return slices.ContainsFunc(f.list, func(e *FieldError) bool { return e.Path == path && e.Reason != required })
}

// forget drops what the file's value of a path gave rise to.
func (f *faults) forget(path string) {
	f.list = slices.DeleteFunc(f.list, func(e *FieldError) bool { return e.Path == path })
	f.lines[path] = 0 // not where the file has it
}

// err joins the faults in the order of the file.
func (f *faults) err() error {
	slices.SortStableFunc(f.list, func(a, b *FieldError) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(f.list))
	for i, e := range f.list {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// within reports whether path is top or lies below it.
func within(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && top != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
