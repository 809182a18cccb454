package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// A snapshot has no names for the fields of a top-level row. The user may give them by state: the row is then an object, as if the snapshot
// had had them. Of a map state whose values are no rows, as a join's side without a unique key is, they are those of the map key.

// nameRow puts names on the row of the state; a wrong number of them is a fault.
func (p *snapshots) nameRow(s *Schema) {
	names := p.o.Names[s.Name]
	if names == nil || s.Value == nil {
		return
	}
	place := &s.Value
	if t, ok := s.Value.(*ttlCodec); ok {
		inner := *t
		s.Value, place = &inner, &inner.inner
	}
	if (*place).Type().Kind != Tuple && s.MapKey != nil {
		place = &s.MapKey
	}
	named, err := nameFields(*place, names)
	if err != nil {
		p.r.Unsupported("state %q: %v", s.Name, err)
		return
	}
	*place = named
}

// A namedRow prints the row that another codec reads as an array as an object.
type namedRow struct {
	Codec
	typ    Type
	quoted [][]byte // `"name":` in order of the names
	fields []int    // which field each is
}

func nameFields(c Codec, names []string) (Codec, error) {
	t := c.Type()
	if t.Kind != Tuple {
		return nil, fmt.Errorf("%d names for a %s, which is no row", len(names), t)
	}
	if len(names) != len(t.Fields) {
		return nil, fmt.Errorf("%d names for a row of %d fields: %s", len(names), len(t.Fields), t)
	}
	n := &namedRow{Codec: c, typ: *t}
	n.typ.Kind, n.typ.Fields = Object, nil
	for i, name := range names {
		if name == "" || strings.Contains(name, ".") || slices.Index(names, name) < i {
			return nil, fmt.Errorf("field %d has the name %q, which is empty, taken or has a dot", i, name)
		}
		n.typ.Fields = append(n.typ.Fields, Field{name, t.Fields[i].Type})
		n.fields = append(n.fields, i)
	}
	slices.SortFunc(n.fields, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	for _, i := range n.fields {
		n.quoted = append(n.quoted, append(appendQuoted(nil, names[i]), ':'))
	}
	return n, nil
}

// hasNames says whether a codec is, or wraps, one of rows that the user named.
func hasNames(c Codec) bool {
	switch c := c.(type) {
	case *namedRow:
		return true
	case *ttlCodec:
		return hasNames(c.inner)
	case typed:
		return hasNames(c.Codec)
	}
	return false
}

func (c *namedRow) Type() *Type { return &c.typ }
func (c *namedRow) minLen() int { return minLen(c.Codec) }

// AppendJSON appends the array, then the object, and moves this to the front.
func (c *namedRow) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	start := len(dst)
	dst = c.Codec.AppendJSON(dst, r)
	if r.Err() != nil || isNull(dst[start:]) {
		return dst
	}
	var few [32]span
	spans := few[:0]
	m := jsonscan.MembersOf(dst[start:])
	for m.Next() {
		end := start + m.End
		spans = append(spans, span{end - len(m.Value), end})
	}
	if m.Err() != nil || len(spans) != len(c.fields) {
		r.Fail("a row of %d fields, not %d", len(spans), len(c.fields))
		return dst
	}
	end := len(dst)
	dst = append(dst, '{')
	for i, f := range c.fields {
		dst = append(append(dst, c.quoted[i]...), dst[spans[f].start:spans[f].end]...)
		dst = append(dst, ',')
	}
	dst = closeObject(dst)
	n := copy(dst[start:], dst[end:])
	return dst[:start+n]
}
