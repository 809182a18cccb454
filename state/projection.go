package state

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"github.com/statebridge/statebridge/jsonscan"
)

// Projection cuts rows into columns. It may be used by several goroutines.
type Projection struct {
	columns []projected
	roots   [rootCount]*branch // nil where no column is taken
}

type projected struct {
	member []byte // `"name":`
	key    bool
	text   func(dst, value []byte) []byte // writes the value as a string; nil: as it is
}

// textOf gives what makes strings of the values of a type.
func textOf(t *Type) func(dst, value []byte) []byte {
	switch {
	case t == nil:
		return nil
	case t.ColumnType() == "json": // the text is that of the JSON, also where this is a string
		return appendQuoted[[]byte]
	}
	return func(dst, value []byte) []byte {
		if value[0] == '"' {
			return append(dst, value...)
		}
		return appendQuoted(dst, value)
	}
}

// A branch is a part of a row: columns that show it whole, and members that others show.
type branch struct {
	path    Path
	columns []int
	members []*branch
	quoted  []byte // its name in an object
	index   int    // its position in an array, or -1
	strict  bool   // a member of the value that is not among members is a fault
	key     bool   // some column that shows it, or a part of it, is a key column
}

// NewProjection prepares columns for many rows.
func NewProjection(columns []Column) *Projection {
	p := &Projection{}
	for i, c := range columns {
		p.columns = append(p.columns, projected{append(appendQuoted(nil, c.Name), ':'), c.Key, textOf(c.from)})
		root, names := c.Path.split()
		b := p.branch(root)
		b.add(i, names, c.positions)
		b.strict = b.strict || c.whole
		b.key = b.key || c.Key
		if root, names := c.again.split(); len(names) > 0 {
			p.branch(root).member(names[0], -1)
		}
	}
	return p
}

// Where each root stands in Projection.roots.
const (
	rootKey = iota
	rootNamespace
	rootMapKey
	rootValue
	rootTTL
	rootCount
)

func rootIndex(root string) int {
	switch root {
	case pathKey:
		return rootKey
	case pathNamespace:
		return rootNamespace
	case pathMapKey:
		return rootMapKey
	case pathTTL:
		return rootTTL
	}
	return rootValue
}

func (p *Projection) branch(root string) *branch {
	b := &p.roots[rootIndex(root)]
	if *b == nil {
		*b = &branch{path: Path(root), index: -1}
	}
	return *b
}

// add takes in a column; positions are those of the names, or nil where only the names are known.
func (b *branch) add(column int, names []string, positions []int) {
	if len(names) == 0 {
		b.columns = append(b.columns, column)
		return
	}
	index := position(names[0])
	if positions != nil {
		index, positions = positions[0], positions[1:]
	}
	b.member(names[0], index).add(column, names[1:], positions)
}

// member finds or makes the branch of a member.
func (b *branch) member(name string, index int) *branch {
	path := b.path + "." + Path(name)
	for _, m := range b.members {
		if m.path == path {
			return m
		}
	}
	m := &branch{path: path, quoted: appendQuoted(nil, name), index: index}
	b.members = append(b.members, m)
	return m
}

// position reads the name of a tuple's field; -1 for any other name.
func position(name string) int {
	if len(name) < 2 || name[0] != 'f' {
		return -1
	}
	n, err := strconv.Atoi(name[1:])
	if err != nil || n < 0 || strconv.Itoa(n) != name[1:] {
		return -1
	}
	return n
}

// AppendKey appends the key columns as a flat JSON object.
func (p *Projection) AppendKey(dst []byte, row *Row) ([]byte, error) { return p.append(dst, row, true) }

// AppendRow appends all columns as a flat JSON object.
func (p *Projection) AppendRow(dst []byte, row *Row) ([]byte, error) {
	return p.append(dst, row, false)
}

// A cutting is what the columns show of one row.
type cutting struct {
	parts [][]byte // by column; nil for null
	ttl   []byte
}

var cuttingPool = sync.Pool{New: func() any { return new(cutting) }}

func (p *Projection) append(dst []byte, row *Row, keyOnly bool) ([]byte, error) {
	c := cuttingPool.Get().(*cutting)
	defer c.release()
	if cap(c.parts) < len(p.columns) {
		c.parts = make([][]byte, len(p.columns))
	}
	parts := c.parts[:len(p.columns)]
	if row.HasTTL && p.roots[rootTTL] != nil {
		c.ttl = strconv.AppendInt(c.ttl[:0], row.TTL, 10)
	}
	if err := p.cut(parts, row, keyOnly, c.ttl); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for i, c := range p.columns {
		if keyOnly && !c.key {
			continue
		}
		dst = append(dst, c.member...)
		switch {
		case parts[i] == nil:
			dst = appendNull(dst)
		case c.text != nil:
			dst = c.text(dst, parts[i])
		default:
			dst = append(dst, parts[i]...)
		}
		dst = append(dst, ',')
	}
	return closeObject(dst), nil
}

func (c *cutting) release() {
	clear(c.parts) // they point into the row
	c.ttl = c.ttl[:0]
	cuttingPool.Put(c)
}

// cut finds the part of the row that each column shows.
func (p *Projection) cut(parts [][]byte, row *Row, keyOnly bool, ttl []byte) error {
	for i, v := range [...][]byte{row.Key, row.Namespace, row.MapKey, row.Value, ttl} {
		b := p.roots[i]
		if b == nil || keyOnly && !b.key {
			continue
		}
		if i == rootTTL && len(ttl) == 0 {
			continue
		}
		if err := b.cut(parts, v); err != nil {
			return err
		}
	}
	return nil
}

func (b *branch) cut(parts [][]byte, v []byte) error {
	if isNull(v) {
		return nil // and so are all its members
	}
	for _, c := range b.columns {
		parts[c] = v
	}
	if len(b.members) == 0 {
		return nil
	}
	m, taken := jsonscan.MembersOf(v), 0
	for m.Next() {
		child := b.match(&m, &taken)
		if child == nil {
			if b.strict {
				return b.unmatched(v, &m)
			}
			continue
		}
		if err := child.cut(parts, m.Value); err != nil {
			return err
		}
	}
	if m.Err() != nil {
		return fmt.Errorf("the %s has no members: %.40s", b.path, v)
	}
	return nil
}

// match finds the branch of a member. Members mostly come in the order of the branches, so it looks at the next one first.
func (b *branch) match(m *jsonscan.Members, taken *int) *branch {
	for i := range b.members {
		at := *taken + i
		if at >= len(b.members) {
			at -= len(b.members)
		}
		c := b.members[at]
		if m.Name == nil && c.index == m.Index || m.Name != nil && bytes.Equal(c.quoted, m.Name) {
			*taken = at + 1
			if *taken == len(b.members) {
				*taken = 0
			}
			return c
		}
	}
	return nil
}

// unmatched says why a member has no column: most likely the value was not decoded.
func (b *branch) unmatched(v []byte, m *jsonscan.Members) error {
	if bytes.HasPrefix(v, []byte(`{"$raw":`)) {
		i := bytes.Index(v, []byte(`,"$type":`))
		return fmt.Errorf("the %s is not decoded: %s", b.path, bytes.TrimSuffix(v[i+1:], []byte("}")))
	}
	name := string(m.Name)
	if m.Name == nil {
		name = strconv.Itoa(m.Index)
	}
	return fmt.Errorf("the %s has a member %s that no column shows", b.path, name)
}
