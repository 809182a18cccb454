package main

import (
	"io"
	"os"
	"strconv"

	"github.com/statebridge/statebridge/render"
	"github.com/statebridge/statebridge/state"
)

// renderOptions says whether rows go to a terminal. Output is always buffered, so that the process's own stdout is meant, whatever w is.
func renderOptions(io.Writer) render.Options {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return render.Options{Terminal: terminal(os.Stdout), Width: width}
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// newProgress makes a bar of unknown length on stderr, if that is a terminal on which no rows are printed; else one that does nothing.
func newProgress(label string) *render.Progress {
	if terminal(os.Stdout) {
		return nil
	}
	return render.NewProgress(os.Stderr, label, 0)
}

func counted(write func(*state.Row) error, bar *render.Progress) func(*state.Row) error {
	return func(r *state.Row) error {
		bar.Add(1)
		return write(r)
	}
}
