package state

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// A flussValueCodec reads an int16 schema id and a row of that schema. Every row is shown with the columns of one schema: those that its
// own does not have yet are null.
type flussValueCodec struct {
	shown *sqlType
	byID  map[int16]*sqlType
}

func (c *flussValueCodec) Type() *Type           { return &c.shown.typ }
func (c *flussValueCodec) FixedLen() int         { return -1 }
func (c *flussValueCodec) Skip(r *javaio.Reader) { r.Skip(r.Len()) }

func (c *flussValueCodec) AppendJSON(dst []byte, r *javaio.Reader) []byte {
	b := r.Take(2)
	if b == nil {
		return appendNull(dst)
	}
	id, _ := FlussSchemaID(b)
	t := c.byID[int16(id)]
	switch {
	case t == nil:
		r.SetErr(&SchemaIDError{ID: id, Have: slices.Sorted(maps.Keys(c.byID))})
		return appendNull(dst)
	case len(t.fields) > len(c.shown.fields):
		r.Fail("a row has schema id %d, and its %d columns are more than the %d of the table", id, len(t.fields), len(c.shown.fields))
		return appendNull(dst)
	}
	dst = t.appendFields(append(dst, '{'), r)
	for _, name := range c.shown.quoted[len(t.fields):] {
		dst = append(appendNull(append(dst, name...)), ',')
	}
	return closeObject(dst)
}

// FlussSchemaID gives the id of the schema that a value of a Fluss table was written with.
func FlussSchemaID(value []byte) (id int, ok bool) {
	if len(value) < 2 {
		return 0, false
	}
	return int(int16(binary.LittleEndian.Uint16(value))), true
}

// SchemaIDError says that a row of a Fluss table was written with a schema that the schema file lacks.
type SchemaIDError struct {
	ID   int
	Have []int16
}

func (e *SchemaIDError) Error() string {
	have := strings.Trim(fmt.Sprint(e.Have), "[]")
	return fmt.Sprintf("a row has schema id %d, and the schema file has %s only: add the columns of schema %d to it", e.ID, have, e.ID)
}

// Unwrap gives fault.ErrUnsupported.
func (e *SchemaIDError) Unwrap() error { return fault.ErrUnsupported }
