package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// left lists processes that we started and that are still there: children of ours, and whoever works in one of the directories.
func left(dirs ...string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*")
	self := strconv.Itoa(os.Getpid())
	var all []string
	for _, file := range files {
		stat, err := os.ReadFile(filepath.Join(file, "stat"))
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state parent …
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		cwd, _ := os.Readlink(filepath.Join(file, "cwd")) // another user's can't be read
		child := len(fields) > 1 && fields[1] == self
		for _, dir := range dirs {
			child = child || cwd == dir || strings.HasPrefix(cwd, dir+"/") || cwd == dir+" (deleted)"
		}
		if child {
			command, _ := os.ReadFile(filepath.Join(file, "cmdline"))
			all = append(all, filepath.Base(file)+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return all
}
