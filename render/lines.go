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

func (l *lines) Encoder() Encoder { return appendLine }

func (l *lines) WriteEncoded(rows []byte) error {
	if l.err == nil {
		_, l.err = l.w.Write(rows)
	}
	return l.err
}

// appendLine is the Encoder of lines, and of formats that take all their work to WriteEncoded.
func appendLine(dst, row []byte) ([]byte, error) {
	if err := checkLine(row); err != nil {
		return dst, err
	}
	return append(append(dst, row...), '\n'), nil
}

// eachLine hands on what appendLine has put together.
func eachLine(rows []byte, write func(row []byte) error) error {
	for line := range bytes.Lines(rows) {
		if err := write(line[:len(line)-1]); err != nil {
			return err
		}
	}
	return nil
}

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
	w   *bufio.Writer
	any bool // row is written
	buf []byte
	err error
}

func newArray(w io.Writer) *array { return &array{w: bufio.NewWriterSize(w, bufferSize)} }

func (a *array) Write(row []byte) error {
	if a.err != nil {
		return a.err
	}
	if a.buf, a.err = appendElement(a.buf[:0], row); a.err != nil {
		return a.err
	}
	return a.WriteEncoded(a.buf)
}

func (a *array) Encoder() Encoder { return appendElement }

func appendElement(dst, row []byte) ([]byte, error) {
	if err := checkLine(row); err != nil {
		return dst, err
	}
	return append(append(dst, ",\n"...), row...), nil
}

func (a *array) WriteEncoded(rows []byte) error {
	if a.err != nil || len(rows) == 0 {
		return a.err
	}
	if !a.any {
		a.any, rows[0] = true, '['
	}
	_, a.err = a.w.Write(rows)
	return a.err
}

func (a *array) Close() error {
	closing := "\n]\n"
	if !a.any {
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
