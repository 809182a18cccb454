package main

import (
	"io"
	"os"
	"strconv"

	"github.com/statebridge/statebridge/render"
)

// renderOptions says whether rows go to a terminal. Output is always buffered, so that the process's own stdout is meant, whatever w is.
func renderOptions(io.Writer) render.Options {
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return render.Options{Terminal: terminal, Width: width}
}
