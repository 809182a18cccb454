package render

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	batchRows  = 64       // rows given to the encoder at once
	batchBytes = 1 << 20  // or as many bytes of text
	groupBytes = 64 << 20 // of values in a row group, which stays in memory (compressed) until it is complete
	valueBytes = 16       // what a value counts beside its text
	holdBytes  = 16 << 20 // of rows that decide the units of timestamps
)

// parquetWriter writes a Parquet file of flat, typed columns.
//
// A TIMESTAMP column counts microseconds unless it needs nanoseconds. Which it is stands in the schema, so the first rows are held back until they
// show it (16 MiB of them, or all): one value with digits below the microsecond makes its column count nanoseconds. A value that does not fit then is an error.
//
// No statistics are kept of text and bytes: rows come in the order of key groups, where minimum and maximum rule nothing out, and those of long
// values would pile up in memory until the footer is written.
type parquetWriter struct {
	out     io.Writer
	columns []Column
	kinds   []kind
	units   []unit
	scanner *scanner
	hold    hold
	file    *parquet.GenericWriter[any] // nil while rows are held back
	batch   []parquet.Row
	values  values
	group   int64 // bytes of values in the open row group

	groupBytes int64
	holdBytes  int
	err        error
}

func newParquet(w io.Writer, columns []Column) (*parquetWriter, error) {
	p := &parquetWriter{
		out: w, columns: slices.Clone(columns), kinds: kindsOf(columns), units: make([]unit, len(columns)), scanner: newScanner(columns),
		groupBytes: groupBytes, holdBytes: holdBytes,
	}
	if !slices.Contains(p.kinds, datetimeKind) && !slices.Contains(p.kinds, instantKind) {
		return p, p.open()
	}
	return p, nil
}

func (p *parquetWriter) open() error {
	options := []parquet.WriterOption{
		parquetSchema(p.columns, p.units),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.DataPageVersion(1), // every reader takes it
		parquet.DataPageStatistics(false),
	}
	for i, c := range p.columns {
		if p.kinds[i].text() {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	if _, err := parquet.NewWriterConfig(options...); err != nil { // at which NewGenericWriter would panic
		return fmt.Errorf("parquet output: %w", err)
	}
	p.file = parquet.NewGenericWriter[any](p.out, options...) // not the config: given as an option, its false flags would count as unset
	return nil
}

func (p *parquetWriter) Write(row []byte) error {
	if p.err == nil {
		p.err = p.write(row)
	}
	return p.err
}

func (p *parquetWriter) Encoder() Encoder { return appendLine }

func (p *parquetWriter) WriteEncoded(rows []byte) error { return eachLine(rows, p.Write) }

func (p *parquetWriter) write(row []byte) error {
	if p.file != nil {
		return p.append(row)
	}
	p.hold.add(row)
	if len(p.hold.rows) >= p.holdBytes {
		return p.release()
	}
	return nil
}

// hold keeps rows back.
type hold struct {
	rows []byte
	ends []int
}

func (h *hold) add(row []byte) {
	h.rows = append(h.rows, row...)
	h.ends = append(h.ends, len(h.rows))
}

func (h *hold) each(f func(row []byte) error) error {
	start := 0
	for _, end := range h.ends {
		if err := f(h.rows[start:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// release decides the units, opens the file and writes what was held back.
func (p *parquetWriter) release() error {
	if err := p.hold.each(p.decide); err != nil {
		return err
	}
	if err := p.open(); err != nil {
		return err
	}
	p.scanner.row = 0
	err := p.hold.each(p.append)
	p.hold = hold{}
	return err
}

func (p *parquetWriter) decide(row []byte) error {
	values, err := p.scanner.scan(row)
	if err != nil {
		return err
	}
	for i, v := range values {
		if k := p.kinds[i]; v == nil || v[0] != '"' || k != datetimeKind && k != instantKind {
			continue
		}
		if m, _ := parseMoment(v[1:len(v)-1], p.kinds[i] == instantKind); m.nanos%1000 != 0 {
			p.units[i] = nanos
		}
	}
	return nil
}

// append adds a row to the batch, and the batch to the row group when it is large enough.
func (p *parquetWriter) append(row []byte) error {
	values, err := p.scanner.scan(row)
	if err != nil {
		return err
	}
	out := p.nextRow()
	for i, v := range values {
		value, err := p.value(v, i)
		if err != nil {
			return fmt.Errorf("row %d, column %q: %w", p.scanner.row, p.columns[i].Name, err)
		}
		out[i] = value
	}
	if len(p.batch) == batchRows || len(p.values.arena) >= batchBytes {
		return p.flush()
	}
	return nil
}

// nextRow extends the batch by a row, whose memory is used again after a flush.
func (p *parquetWriter) nextRow() parquet.Row {
	n := len(p.batch)
	if n < cap(p.batch) {
		p.batch = p.batch[:n+1]
	} else {
		p.batch = append(p.batch, nil)
	}
	if p.batch[n] == nil {
		p.batch[n] = make(parquet.Row, len(p.columns))
	}
	return p.batch[n]
}

func (p *parquetWriter) value(v []byte, column int) (parquet.Value, error) {
	nullable := p.columns[column].Nullable
	switch {
	case v == nil && !nullable:
		return parquet.Value{}, unfit("it is null and the column is not nullable")
	case v == nil:
		return parquet.NullValue().Level(0, 0, column), nil
	}
	value, err := p.values.convert(v, p.kinds[column], p.units[column])
	if err != nil {
		return value, err
	}
	if nullable {
		return value.Level(0, 1, column), nil
	}
	return value.Level(0, 0, column), nil
}

// flush hands the batch to the encoder and ends the row group when that holds enough.
func (p *parquetWriter) flush() error {
	if len(p.batch) == 0 {
		return nil
	}
	if _, err := p.file.WriteRows(p.batch); err != nil {
		return fmt.Errorf("parquet output: %w", err)
	}
	p.group += int64(len(p.values.arena) + len(p.batch)*len(p.columns)*valueBytes)
	p.batch, p.values.arena = p.batch[:0], p.values.arena[:0]
	if p.group < p.groupBytes {
		return nil
	}
	p.group = 0
	if err := p.file.Flush(); err != nil {
		return fmt.Errorf("parquet output: %w", err)
	}
	return nil
}

func (p *parquetWriter) Close() error {
	if p.err != nil {
		return p.err
	}
	p.err = p.finish()
	if p.err != nil {
		return p.err
	}
	p.err = errClosed
	return nil
}

// finish writes what is left and the footer.
func (p *parquetWriter) finish() error {
	if p.file == nil {
		if err := p.release(); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("parquet output: %w", err)
	}
	return nil
}
