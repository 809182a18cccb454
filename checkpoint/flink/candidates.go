package flink

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/checkpoint/storage"
)

// maxAncestors is how many directories above the snapshot's own are searched: from chk-n over the job's directory and
// the root of all checkpoints to what lies beside it, such as a directory of changelogs or of savepoints.
const maxAncestors = 4

// Candidates lists where the file that a snapshot calls path may lie, best first, when its _metadata was found in dir:
//
//  1. where the given mappings put it, the longest From first,
//  2. below dir or a directory above it, if path has a directory of that name: what follows the name,
//  3. below dir and the directories above it, the nearest first: each tail of path, the longest first. A tail has two
//     components at least ("shared/<file>"), but for a file right in dir,
//  4. where path says.
//
// So a tree that was copied is read from the copy though the original may still be there, and a snapshot that refers to
// another job's directory (after a rescale or a claimed restore) finds it beside its own.
func Candidates(dir, path string, maps []PathMap) []string {
	var out []string
	for m := range candidates(strings.TrimRight(dir, "/"), path, maps, nil) {
		if uri := m.apply(path); !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	return out
}

// candidates gives the mappings that Candidates applies; learned ones come after the given ones.
func candidates(dir, path string, maps, learned []PathMap) iter.Seq[PathMap] {
	return func(yield func(PathMap) bool) {
		for _, m := range append(byLength(maps), learned...) {
			if given, ok := m.spelled(path); ok && !yield(given) {
				return
			}
		}
		if ownTree(dir, path, yield) {
			yield(PathMap{})
		}
	}
}

func byLength(maps []PathMap) []PathMap {
	sorted := slices.Clone(maps)
	slices.SortStableFunc(sorted, func(a, b PathMap) int { return cmp.Compare(len(b.From), len(a.From)) })
	return sorted
}

// spelled gives m with From as path has it, and whether it applies: a user may leave "file:" out, or write three slashes. The zero PathMap,
// which only is learned, leaves every path as it is.
func (m PathMap) spelled(path string) (PathMap, bool) {
	if m == (PathMap{}) || m.matches(path) {
		return m, true
	}
	from, err := storage.LocalPath(m.From)
	if err != nil || !strings.HasPrefix(path, "file:") {
		return m, false
	}
	local, err := storage.LocalPath(path)
	if err != nil {
		return m, false
	}
	m.From = path[:len(path)-len(local)] + from
	return m, m.matches(path)
}

// ownTree gives the second kind of candidates, and says whether yield wants more.
func ownTree(dir, path string, yield func(PathMap) bool) bool {
	tails, above := tails(path), ancestors(dir)
	for _, a := range above {
		_, name := storage.Split(a)
		for _, at := range tails {
			if rest := strings.TrimPrefix(path[at:], name); strings.HasPrefix(rest, "/") && rest != path[at:] &&
				!yield(PathMap{path[:at+len(name)], a}) {
				return false
			}
		}
	}
	for i, a := range above {
		for j, at := range tails {
			if alone := j == len(tails)-1; alone && i > 0 {
				continue
			}
			if !yield(PathMap{path[:at-1], a}) {
				return false
			}
		}
	}
	return true
}

// tails gives the offsets at which the components of path start, behind its scheme and host.
func tails(path string) []int {
	at := 0
	if s := storage.Scheme(path); s != "" {
		at = len(s) + 1
		if rest, ok := strings.CutPrefix(path[at:], "//"); ok {
			host := strings.IndexByte(rest, '/')
			if host < 0 {
				return nil
			}
			at += 2 + host
		}
	}
	var out []int
	for i := at; i+1 < len(path); i++ {
		if path[i] == '/' && path[i+1] != '/' {
			out = append(out, i+1)
		}
	}
	return out
}

func ancestors(dir string) []string {
	out := []string{dir}
	for range maxAncestors {
		up, _ := storage.Split(dir)
		if up == "" {
			break
		}
		out = append(out, up)
		dir = up
	}
	return out
}
