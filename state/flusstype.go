package state

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseFlussType reads a type as Fluss writes it: DECIMAL(10, 2) NOT NULL, MAP<STRING NOT NULL, ARRAY<INT>>, ROW<`a` INT, b STRING 'comment'>. Rows in it
// have the given form.
func parseFlussType(text string, form rowForm) (*sqlType, error) {
	p := &flussTypeParser{rest: text, form: form}
	t, err := p.parse(0)
	if err == nil && p.skipSpace() != "" {
		err = errors.New("the type has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("type %q: before %q: %w", text, p.rest, err)
	}
	return t, nil
}

// flussTypeNames are the names of types, and the root that each stands for.
var flussTypeNames = map[string]string{
	"BOOLEAN": "BOOLEAN", "TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "INT": "INTEGER", "INTEGER": "INTEGER", "BIGINT": "BIGINT",
	"FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "CHAR": "CHAR", "STRING": "VARCHAR", "VARCHAR": "VARCHAR", "BINARY": "BINARY", "BYTES": "VARBINARY", "VARBINARY": "VARBINARY",
	"DECIMAL": "DECIMAL", "NUMERIC": "DECIMAL", "DEC": "DECIMAL", "DATE": "DATE", "TIME": "TIME_WITHOUT_TIME_ZONE",
	"TIMESTAMP": "TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_LTZ": "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
	"ARRAY": "ARRAY", "MAP": "MAP", "ROW": "ROW",
}

type flussTypeParser struct {
	rest string
	form rowForm
}

func (p *flussTypeParser) skipSpace() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	return p.rest
}

// take steps over text, if it comes next.
func (p *flussTypeParser) take(text string) bool {
	rest, ok := strings.CutPrefix(p.skipSpace(), text)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *flussTypeParser) want(text string) error {
	if !p.take(text) {
		return fmt.Errorf("%q is expected", text)
	}
	return nil
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func (p *flussTypeParser) word() string {
	s := p.skipSpace()
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	p.rest = s[n:]
	return s[:n]
}

// keywords steps over the words, if they all come next.
func (p *flussTypeParser) keywords(words ...string) bool {
	before := p.rest
	for _, w := range words {
		if !strings.EqualFold(p.word(), w) {
			p.rest = before
			return false
		}
	}
	return true
}

func (p *flussTypeParser) parse(depth int) (*sqlType, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("types nest deeper than %d", maxDepth)
	}
	before := p.rest
	name := p.word()
	root, known := flussTypeNames[strings.ToUpper(name)]
	if !known {
		p.rest = before
		return nil, fmt.Errorf("%q is no type of Fluss", name)
	}
	t := &sqlType{root: root, typ: Type{Kind: sqlKinds[root]}}
	var err error
	switch root {
	case "ARRAY", "MAP":
		err = p.elements(t, depth)
	case "ROW":
		err = p.fields(t, depth)
	default:
		err = p.parameters(t)
	}
	if err != nil {
		return nil, err
	}
	t.typ.Nullable = !p.keywords("NOT", "NULL")
	if t.typ.Nullable {
		p.keywords("NULL")
	}
	return t, nil
}

func (p *flussTypeParser) elements(t *sqlType, depth int) (err error) {
	if err = p.want("<"); err != nil {
		return err
	}
	t.typ.Kind = List
	if t.root == "MAP" {
		t.typ.Kind = Map
		if t.key, err = p.parse(depth + 1); err != nil {
			return err
		}
		t.typ.Key = &t.key.typ
		if err = p.want(","); err != nil {
			return err
		}
	}
	if t.elem, err = p.parse(depth + 1); err != nil {
		return err
	}
	t.typ.Elem = &t.elem.typ
	return p.want(">")
}

// fields reads what a row consists of.
func (p *flussTypeParser) fields(t *sqlType, depth int) error {
	end := ">"
	if !p.take("<") {
		if end = ")"; !p.take("(") {
			return errors.New(`"<" is expected`)
		}
	}
	t.typ.Kind, t.typ.Fields, t.form = Record, []Field{}, p.form
	if p.take(end) {
		return nil
	}
	for {
		name, err := p.fieldName()
		if err != nil {
			return err
		}
		f, err := p.parse(depth + 1)
		if err != nil {
			return err
		}
		if err := t.addNamed(name, f); err != nil {
			return err
		}
		if err := p.comment(); err != nil {
			return err
		}
		if p.take(end) {
			return nil
		}
		if err := p.want(","); err != nil {
			return err
		}
	}
}

// addNamed appends a field to a Record.
func (t *sqlType) addNamed(name string, f *sqlType) error {
	if name == "" || slices.ContainsFunc(t.typ.Fields, func(other Field) bool { return other.Name == name }) {
		return fmt.Errorf("the name %q is empty or stands twice", name)
	}
	t.fields = append(t.fields, f)
	t.quoted = append(t.quoted, append(appendQuoted(nil, name), ':'))
	t.typ.Fields = append(t.typ.Fields, Field{name, &f.typ})
	return nil
}

// fieldName reads a word, or anything between backticks, of which one is written twice.
func (p *flussTypeParser) fieldName() (string, error) {
	if p.take("`") {
		return p.quoted('`')
	}
	name := p.word()
	if name == "" {
		return "", errors.New("the name of a field is expected")
	}
	return name, nil
}

func (p *flussTypeParser) comment() error {
	if !p.take("'") {
		return nil
	}
	_, err := p.quoted('\'')
	return err
}

// quoted reads up to a quote that does not stand twice.
func (p *flussTypeParser) quoted(quote byte) (string, error) {
	var text strings.Builder
	for {
		i := strings.IndexByte(p.rest, quote)
		if i < 0 {
			return "", fmt.Errorf("%q is expected", string(quote))
		}
		text.WriteString(p.rest[:i])
		p.rest = p.rest[i+1:]
		if len(p.rest) == 0 || p.rest[0] != quote {
			return text.String(), nil
		}
		text.WriteByte(quote)
		p.rest = p.rest[1:]
	}
}

// parameters reads what stands in parentheses behind the name of a type, and what may follow TIME and TIMESTAMP.
func (p *flussTypeParser) parameters(t *sqlType) error {
	given, err := p.numbers()
	if err != nil {
		return err
	}
	most := 0
	switch t.root {
	case "CHAR", "BINARY":
		most, t.length = 1, orDefault(given, 0, 1)
	case "VARCHAR", "VARBINARY": // a length that nothing depends on
		most = 1
	case "DECIMAL":
		most, t.precision, t.scale = 2, orDefault(given, 0, 10), orDefault(given, 1, 0)
		if t.precision < 1 || t.precision > maxScale || t.scale > t.precision {
			return fmt.Errorf("a decimal has up to %d digits, not %d of which %d are behind the point", maxScale, t.precision, t.scale)
		}
	case "TIME_WITHOUT_TIME_ZONE":
		most, t.precision = 1, orDefault(given, 0, 0)
	case "TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
		most, t.precision = 1, orDefault(given, 0, 6)
	}
	switch {
	case len(given) > most:
		return fmt.Errorf("no more than %d numbers in parentheses are expected", most)
	case (t.root == "CHAR" || t.root == "BINARY") && t.length == 0:
		return errors.New("a length above 0 is expected")
	case t.typ.Kind != Decimal && t.precision > 9:
		return errors.New("a second has no more than 9 digits behind the point")
	}
	return p.zone(t)
}

// zone reads WITH LOCAL TIME ZONE and WITHOUT TIME ZONE.
func (p *flussTypeParser) zone(t *sqlType) error {
	if t.typ.Kind != DateTime && t.typ.Kind != Time || p.keywords("WITHOUT", "TIME", "ZONE") {
		return nil
	}
	if t.typ.Kind == DateTime && p.keywords("WITH", "LOCAL", "TIME", "ZONE") {
		t.root, t.typ.Kind = flussTypeNames["TIMESTAMP_LTZ"], Instant
	}
	return nil
}

func orDefault(given []int, i, otherwise int) int {
	if i < len(given) {
		return given[i]
	}
	return otherwise
}

// numbers reads (n) or (n, m), if it comes next.
func (p *flussTypeParser) numbers() (list []int, err error) {
	if !p.take("(") {
		return nil, nil
	}
	for {
		n, err := strconv.ParseInt(p.word(), 10, 32)
		if err != nil || n < 0 {
			return nil, errors.New("a number is expected")
		}
		list = append(list, int(n))
		if p.take(")") {
			return list, nil
		}
		if len(list) == 2 {
			return nil, errors.New(`")" is expected`)
		}
		if err := p.want(","); err != nil {
			return nil, err
		}
	}
}
