package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

const bufferSize = 256 << 10

// lines writes the rows as they are, one a line.
type lines struct {
	w   *bufio.Writer
	err error
}

func newLines(w io.Writer) *lines { return &lines{w: bufio.NewWriterSize(w, bufferSize)} }

func (l *lines) Write(row []byte) error {
	if l.err != nil {
		return l.err
	}
	if l.err = checkLine(row); l.err != nil {
		return l.err
	}
	_, _ = l.w.Write(row) // an error comes again
	l.err = l.w.WriteByte('\n')
	return l.err
}

func (l *lines) Close() error { return finish(l.w, &l.err) }

// checkLine keeps out what would break the framing; the inside of the row is not read here.
func checkLine(row []byte) error {
	if len(row) < 2 || row[0] != '{' || row[len(row)-1] != '}' {
		return fmt.Errorf("%w: no object", ErrMalformed)
	}
	if bytes.IndexByte(row, '\n') >= 0 {
		return fmt.Errorf("%w: a line break inside", ErrMalformed)
	}
	return nil
}

// array writes the rows as the elements of a JSON array, one a line.
type array struct {
	w    *bufio.Writer
	rows int64
	err  error
}

func newArray(w io.Writer) *array { return &array{w: bufio.NewWriterSize(w, bufferSize)} }

func (a *array) Write(row []byte) error {
	if a.err != nil {
		return a.err
	}
	if a.err = checkLine(row); a.err != nil {
		return a.err
	}
	opening := ",\n"
	if a.rows == 0 {
		opening = "[\n"
	}
	_, _ = a.w.WriteString(opening) // an error comes again
	_, a.err = a.w.Write(row)
	a.rows++
	return a.err
}

func (a *array) Close() error {
	closing := "\n]\n"
	if a.rows == 0 {
		closing = "[]\n"
	}
	if a.err == nil {
		_, a.err = a.w.WriteString(closing)
	}
	return finish(a.w, &a.err)
}

// finish flushes the rows that came before an error too: what was right is shown. A second Close does nothing.
func finish(w *bufio.Writer, sticky *error) error {
	err := w.Flush()
	if *sticky == nil {
		*sticky = err
	}
	if *sticky != nil {
		return *sticky
	}
	*sticky = errClosed
	return nil
}
