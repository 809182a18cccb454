package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// machine describes what the numbers were measured on: a number without its machine says nothing.
func machine(ctx context.Context) string {
	return fmt.Sprintf("%s: %s/%s, %d cores of %s, %s memory, kernel %s, load %s\n%s; %s",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		find("/proc/cpuinfo", `model name\s*: (.+)`), memory(), find("/proc/sys/kernel/osrelease", `(\S+)`), find("/proc/loadavg", `(\S+)`),
		runtime.Version(), java(ctx))
}

func memory() string {
	var kib float64
	if _, err := fmt.Sscan(find("/proc/meminfo", `MemTotal:\s*(\d+)`), &kib); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f GiB", kib/(1<<20))
}

// find gives the first group of the pattern's first match in a file of the kernel's.
func find(file, pattern string) string {
	all, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	m := regexp.MustCompile(pattern).FindSubmatch(all)
	if m == nil {
		return "unknown"
	}
	return strings.TrimSpace(string(m[1]))
}

func java(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return "no java: " + err.Error()
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
