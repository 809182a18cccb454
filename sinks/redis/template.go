package redis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/sinks"
	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/sinks/sqltable"
	"github.com/statebridge/statebridge/stream"
)

// own begins the keys that hold positions.
const own = "statebridge:"

// template makes the key of a row: texts[0] value texts[1] value … texts[n].
type template struct {
	texts   []string
	columns []int  // for each value, which of the key columns it is
	escaped []byte // written %XX inside values; nil when there is one value only
}

// defaultKey is the template of a consumer that is given none.
func defaultKey(t sinks.Table) string {
	parts := []string{t.Consumer}
	for _, k := range sqltable.Keys(t.Columns) {
		parts = append(parts, "{"+k.Name+"}")
	}
	return strings.Join(parts, ":")
}

// parseTemplate names all that keeps a template from telling rows apart.
func parseTemplate(text string, t sinks.Table) (*template, error) {
	keys := sqltable.Keys(t.Columns)
	p := &template{}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	rest := text
	for {
		literal, after, found := strings.Cut(rest, "{")
		if !found {
			p.texts = append(p.texts, literal)
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed {
			fault("a brace is not closed")
			break
		}
		p.add(literal, name, keys, fault)
		rest = next
	}
	for i, k := range keys {
		if !slices.Contains(p.columns, i) {
			fault("key column %q is missing, so two rows could share a key", k.Name)
		}
	}
	p.checkTexts(fault)
	if len(faults) > 0 {
		return nil, sinks.Permanent(fmt.Errorf("consumer %q: key template %q: %w", t.Consumer, text, errors.Join(faults...)))
	}
	return p, nil
}

func (p *template) add(literal, name string, keys []stream.Column, fault func(string, ...any)) {
	i := slices.IndexFunc(keys, func(k stream.Column) bool { return k.Name == name })
	switch {
	case i < 0:
		fault("%q is no key column", name)
	case slices.Contains(p.columns, i):
		fault("column %q is named twice", name)
	}
	p.texts, p.columns = append(p.texts, literal), append(p.columns, i)
}

func (p *template) checkTexts(fault func(string, ...any)) {
	switch first := p.texts[0]; { // a full epoch deletes what begins so and is not in the state
	case first == "":
		fault("it must begin with a text of its own, such as rows:, or it would own all keys of the database")
	case strings.HasPrefix(first, own) || strings.HasPrefix(own, first):
		fault("it must begin with a text of its own, and not with %q, where the positions are", own)
	}
	if len(p.columns) < 2 {
		return
	}
	p.escaped = []byte{'%'}
	for _, between := range p.texts[1:len(p.columns)] {
		if between == "" {
			fault("two columns stand side by side with no text between them")
		}
		p.escaped = append(p.escaped, between...)
	}
}

// append makes a key of the JSON values of the key columns.
func (p *template) append(dst []byte, values [][]byte) ([]byte, error) {
	for i, column := range p.columns {
		dst = append(dst, p.texts[i]...)
		start := len(dst)
		var err error
		if dst, err = row.AppendText(dst, values[column]); err != nil {
			return dst, err
		}
		if p.escaped != nil {
			dst = p.escape(dst, start)
		}
	}
	return append(dst, p.texts[len(p.columns)]...), nil
}

func (p *template) escape(dst []byte, start int) []byte {
	if !slices.ContainsFunc(dst[start:], func(b byte) bool { return slices.Contains(p.escaped, b) }) {
		return dst
	}
	value := slices.Clone(dst[start:])
	dst = dst[:start]
	for _, b := range value {
		if slices.Contains(p.escaped, b) {
			dst = fmt.Appendf(dst, "%%%02X", b)
		} else {
			dst = append(dst, b)
		}
	}
	return dst
}

// pattern is a glob that matches all keys with a beginning.
func pattern(beginning string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(beginning) + "*"
}

// name makes a token without colons of a source's or consumer's name.
func name(s string) string { return strings.NewReplacer("%", "%25", ":", "%3A").Replace(s) }

func positionKey(t sinks.Table) string { return own + name(t.Source) + ":" + name(t.Consumer) }
