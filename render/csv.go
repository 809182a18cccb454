package render

import (
	"bufio"
	"bytes"
	"io"
)

// csvWriter writes RFC 4180 with a header, and "\n" as the end of a line, as most tools do. A null is an empty field, the empty string a quoted one;
// a row of one column that is null is thus an empty line. Other values are what appendPlain gives.
type csvWriter struct {
	w       *bufio.Writer
	scanner *scanner
	kinds   []kind
	line    []byte
	field   []byte
	err     error
}

func newCSV(w io.Writer, columns []Column) (*csvWriter, error) {
	c := &csvWriter{w: bufio.NewWriterSize(w, bufferSize), scanner: newScanner(columns), kinds: kindsOf(columns)}
	for i, column := range columns {
		c.separate(i)
		c.line = appendField(c.line, []byte(column.Name))
	}
	c.line = append(c.line, '\n')
	_, c.err = c.w.Write(c.line)
	return c, c.err
}

func kindsOf(columns []Column) []kind {
	out := make([]kind, len(columns))
	for i, c := range columns {
		out[i] = kinds[c.Type]
	}
	return out
}

func (c *csvWriter) Write(row []byte) error {
	if c.err != nil {
		return c.err
	}
	values, err := c.scanner.scan(row)
	if err != nil {
		c.err = err
		return err
	}
	c.line = c.line[:0]
	for i, v := range values {
		c.separate(i)
		if v != nil {
			c.field = appendPlain(c.field[:0], v, c.kinds[i])
			c.line = appendField(c.line, c.field)
		}
	}
	c.line = append(c.line, '\n')
	_, c.err = c.w.Write(c.line)
	return c.err
}

func (c *csvWriter) separate(column int) {
	if column > 0 {
		c.line = append(c.line, ',')
	}
}

func (c *csvWriter) Close() error { return finish(c.w, &c.err) }

// appendField appends a value that is not null, in quotes where it needs them or has space at an edge, which some readers trim.
func appendField(dst, field []byte) []byte {
	if isBare(field) {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for {
		quote := bytes.IndexByte(field, '"')
		if quote < 0 {
			return append(append(dst, field...), '"')
		}
		dst = append(append(dst, field[:quote+1]...), '"')
		field = field[quote+1:]
	}
}

func isBare(field []byte) bool {
	n := len(field)
	if n == 0 || field[0] <= ' ' || field[n-1] <= ' ' || string(field) == `\.` { // the end of data to COPY of Postgres
		return false
	}
	for _, c := range field {
		if c == '"' || c == ',' || c == '\n' || c == '\r' {
			return false
		}
	}
	return true
}
