package main

import (
	"bufio"
	"os"
	"strconv"

	"github.com/mattn/go-isatty"

	"github.com/statebridge/statebridge/render"
)

// renderOptions says whether rows go to a terminal. Output is always buffered, so that the process's own stdout is looked at.
func renderOptions() render.Options {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return render.Options{Terminal: terminal(os.Stdout), Width: width}
}

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// newProgress makes a bar of unknown length on stderr, if that is a terminal on which no rows are printed; else one that does nothing.
func newProgress(label string) *render.Progress {
	if terminal(os.Stdout) {
		return nil
	}
	return render.NewProgress(os.Stderr, label, 0)
}

// flushed ends the output: what is buffered is printed also after an error, which weighs more than one of printing.
func flushed(out *bufio.Writer, err error) error {
	if e := out.Flush(); err == nil {
		return e
	}
	return err
}
