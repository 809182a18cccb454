package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// csvWriter writes RFC 4180 with a header, and "\n" as the end of a line, as most tools do. A null is an empty field, the empty string a quoted one;
// a row of one column that is null is thus an empty line. Other values are what appendPlain gives.
type csvWriter struct {
	w       *bufio.Writer
	columns []Column
	encode  Encoder // of Write
	row     int64   // the row at hand, from 1
	line    []byte
	err     error
}

func newCSV(w io.Writer, columns []Column) (*csvWriter, error) {
	c := &csvWriter{w: bufio.NewWriterSize(w, bufferSize), columns: columns}
	c.encode = c.Encoder()
	for i, column := range columns {
		c.line = appendField(separated(c.line, i), []byte(column.Name))
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
	c.row++
	if c.line, c.err = c.encode(c.line[:0], row); c.err != nil {
		c.err = fmt.Errorf("row %d: %w", c.row, c.err)
		return c.err
	}
	return c.WriteEncoded(c.line)
}

func (c *csvWriter) WriteEncoded(rows []byte) error {
	if c.err == nil {
		_, c.err = c.w.Write(rows)
	}
	return c.err
}

func (c *csvWriter) Encoder() Encoder {
	scanner, kinds := newScanner(c.columns), kindsOf(c.columns)
	var field []byte
	return func(dst, row []byte) ([]byte, error) {
		values, err := scanner.values(row)
		if err != nil {
			return dst, err
		}
		for i, v := range values {
			dst = separated(dst, i)
			if v != nil {
				field = appendPlain(field[:0], v, kinds[i])
				dst = appendField(dst, field)
			}
		}
		return append(dst, '\n'), nil
	}
}

func separated(dst []byte, column int) []byte {
	if column > 0 {
		dst = append(dst, ',')
	}
	return dst
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
