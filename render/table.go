package render

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const (
	layoutRows  = 1000    // that decide the widths of the columns
	layoutBytes = 4 << 20 // or as many bytes of cells
	gap         = 2       // between columns
	minWidth    = 4       // below which no column is shortened
	dots        = "…"
)

// table aligns columns for a person: text to the left, numbers to the right. The first rows decide the widths, later rows keep them: a longer cell
// is shortened on a terminal, elsewhere it pushes the rest of its line to the right.
//
// A null is blank and the empty string is "". Characters that do not print, among them those that steer a terminal, are shown as escapes.
type table struct {
	w       *bufio.Writer
	columns []Column
	kinds   []kind
	scanner *scanner
	limit   int // characters of a line; 0 for no limit

	held   [][]string // header and rows that wait for the layout
	bytes  int
	widths []int // nil before the layout
	text   []byte
	err    error
}

func newTable(w io.Writer, columns []Column, o Options) *table {
	t := &table{w: bufio.NewWriterSize(w, bufferSize), columns: columns, kinds: kindsOf(columns), scanner: newScanner(columns)}
	if o.Terminal {
		t.limit = max(o.Width, 0)
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		t.text = append(t.text[:0], c.Name...)
		header[i] = t.cell()
	}
	t.held = append(t.held, header)
	return t
}

func (t *table) Write(row []byte) error {
	if t.err != nil {
		return t.err
	}
	values, err := t.scanner.scan(row)
	if err != nil {
		t.err = err
		return err
	}
	cells := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			t.text = appendPlain(t.text[:0], v, t.kinds[i])
			cells[i] = t.cell()
		}
		t.bytes += len(cells[i])
	}
	if t.widths != nil {
		t.err = t.line(cells)
		return t.err
	}
	t.held = append(t.held, cells)
	if len(t.held) > layoutRows || t.bytes >= layoutBytes {
		t.err = t.layout()
	}
	return t.err
}

func (t *table) Encoder() Encoder { return appendLine }

func (t *table) WriteEncoded(rows []byte) error { return eachLine(rows, t.Write) }

func (t *table) Close() error {
	if t.widths == nil && (t.err == nil || len(t.held) > 1) { // after a fault the rows before it are shown
		if err := t.layout(); t.err == nil {
			t.err = err
		}
	}
	return finish(t.w, &t.err)
}

// cell gives the text at hand as it is shown.
func (t *table) cell() string {
	if len(t.text) == 0 {
		return `""`
	}
	cut := false
	if most := t.limit * 4 * utf8.UTFMax; t.limit > 0 && len(t.text) > most { // a line can't show as much
		for !utf8.RuneStart(t.text[most]) {
			most--
		}
		t.text, cut = t.text[:most], true
	}
	s := printable(string(t.text))
	if t.limit > 0 {
		s = shorten(s, t.limit)
	}
	if cut && !strings.HasSuffix(s, dots) {
		s += dots
	}
	return s
}

// printable escapes what does not print, as JSON does.
func printable(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && strconv.IsPrint(r)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		writePrintable(&b, r)
	}
	return b.String()
}

func writePrintable(b *strings.Builder, r rune) {
	switch {
	case strconv.IsPrint(r):
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r > 0xFFFF:
		high, low := utf16.EncodeRune(r)
		writePrintable(b, high)
		writePrintable(b, low)
	default:
		const hex = "0123456789abcdef"
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[r>>shift&0xF])
		}
	}
}

func width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return runewidth.StringWidth(s)
		}
	}
	return len(s)
}

func shorten(s string, most int) string {
	if width(s) <= most {
		return s
	}
	return runewidth.Truncate(s, most, dots)
}

// layout decides the widths and prints header and rows that waited for it.
func (t *table) layout() error {
	t.widths = make([]int, len(t.columns))
	for _, cells := range t.held {
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], width(c))
		}
	}
	if t.limit > 0 {
		fit(t.widths, t.limit-gap*(len(t.widths)-1))
	}
	rule := make([]string, len(t.widths))
	for i, w := range t.widths {
		rule[i] = strings.Repeat("-", w)
	}
	held := t.held
	t.held = nil
	for i, cells := range held {
		if err := t.line(cells); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if err := t.line(rule); err != nil {
			return err
		}
	}
	return nil
}

// fit narrows the widest columns until all of them together take most characters, or no column is wider than minWidth.
func fit(widths []int, most int) {
	limit := slices.Max(widths)
	for limit > minWidth && taken(widths, limit) > most {
		limit--
	}
	spare := most - taken(widths, limit)
	for i, w := range widths {
		if w <= limit {
			continue
		}
		widths[i] = limit
		if spare > 0 {
			widths[i], spare = limit+1, spare-1
		}
	}
}

func taken(widths []int, limit int) int {
	n := 0
	for _, w := range widths {
		n += min(w, limit)
	}
	return n
}

// line prints cells in their widths, without spaces at its end.
func (t *table) line(cells []string) error {
	pending := 0 // spaces that the next cell needs before it
	for i, c := range cells {
		if t.limit > 0 {
			c = shorten(c, t.widths[i])
		}
		pad := max(t.widths[i]-width(c), 0)
		if t.kinds[i].number() {
			pending, pad = pending+pad, 0
		}
		if c != "" {
			t.spaces(pending)
			_, _ = t.w.WriteString(c)
			pending = 0
		}
		pending += pad + gap
	}
	return t.w.WriteByte('\n') // tells of all errors before
}

func (t *table) spaces(n int) {
	for ; n > 0; n-- {
		_ = t.w.WriteByte(' ')
	}
}
