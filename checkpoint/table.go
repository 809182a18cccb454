package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state"
)

// Table is one registered state of one operator, over all its subtasks.
type Table struct {
	Operator *Operator
	Name     string
	Kind     state.Kind

	maxParallelism int
	parts          []part // by key group
}

// part is what one subtask holds of a table.
type part struct {
	groups KeyGroups
	schema *state.Schema
	source source
	id     int    // of the state within the source
	family string // of a database; "": it is called as the state is
}

func (p *part) columnFamily() string {
	if p.family != "" {
		return p.family
	}
	return p.schema.Name
}

// blank says that an entry is no row: a list without elements, which a job cannot tell from one that is not there.
func (p *part) blank(value []byte) bool { return len(value) == 0 && p.schema.Kind == state.KindList }

// source is one opened handle: the states of one subtask.
type source interface {
	// cursor walks one state's entries of a range of key groups whose composite keys lie in [lower, upper); nil is open.
	cursor(ctx context.Context, p *part, groups KeyGroups, lower, upper []byte) (Cursor, error)
	// get finds the value of one whole composite key, which lies in key group g.
	get(ctx context.Context, p *part, g int, key []byte) (value []byte, found bool, err error)
	close() error
	// size is the number of bytes that the files hold of this state, or -1 where states share them.
	size(p *part) int64
}

// MaxParallelism is the number of key groups.
func (t *Table) MaxParallelism() int { return t.maxParallelism }

// Keyed says whether the table belongs to keyed state, so that its rows have a key group.
func (t *Table) Keyed() bool { return keyed(t.Kind) }

func keyed(k state.Kind) bool {
	return k != state.KindBroadcast && k != state.KindOpList && k != state.KindOpUnion
}

// Schema describes the table: what the schemas of its subtasks have in common, and every subclass and constant that one of them has seen.
func (t *Table) Schema() *state.Schema {
	schema := t.parts[0].schema
	for _, p := range t.parts[1:] {
		schema = state.MergeSchemas(schema, p.schema)
	}
	return schema
}

// Size is the number of bytes in files that hold only this table, or -1 where states share their files.
func (t *Table) Size() int64 {
	var sum int64
	for i := range t.parts {
		n := t.parts[i].source.size(&t.parts[i])
		if n < 0 {
			return -1
		}
		sum += n
	}
	return sum
}

// Cursor walks the entries of a range of key groups in the order of their composite keys.
func (t *Table) Cursor(ctx context.Context, groups KeyGroups) (Cursor, error) {
	return t.between(ctx, groups, nil, nil)
}

// between is Cursor for composite keys in [lower, upper).
func (t *Table) between(ctx context.Context, groups KeyGroups, lower, upper []byte) (Cursor, error) {
	var opens []func() (Cursor, error)
	for i := range t.parts {
		p := &t.parts[i]
		if !p.groups.Overlaps(groups) {
			continue
		}
		opens = append(opens, func() (Cursor, error) {
			c, err := p.source.cursor(ctx, p, p.groups.Clip(groups), lower, upper)
			if err != nil {
				return nil, fmt.Errorf("state %q: %w", t.Name, err)
			}
			return c, nil
		})
	}
	return &chain{opens: opens, table: t}, nil
}

// Finished says that subtasks of the operator have finished, so that their rows are in no snapshot any more. It must
// not be taken for their deletion.
func (t *Table) Finished() bool { return t.Operator.AnyFinished() }

// SameKeys says whether the rows of both tables are told apart by the same bytes: the serializers of key, namespace and map key agree, and so does the number
// of key groups. Else the same row may have another key in each.
func (t *Table) SameKeys(o *Table) bool {
	if t.maxParallelism != o.maxParallelism {
		return false
	}
	first := t.parts[0].schema
	differs := func(p part) bool {
		return !reflect.DeepEqual(first.Key, p.schema.Key) || !reflect.DeepEqual(first.Namespace, p.schema.Namespace) || !reflect.DeepEqual(first.MapKey, p.schema.MapKey)
	}
	return !slices.ContainsFunc(t.parts, differs) && !slices.ContainsFunc(o.parts, differs)
}

// add brings one subtask's state into the table.
func (t *Table) add(p part) error {
	if len(t.parts) > 0 && t.parts[0].schema.Kind != p.schema.Kind {
		return fault.Unsupported("", -1, "state %q is %s in one subtask and %s in another", t.Name, t.parts[0].schema.Kind, p.schema.Kind)
	}
	if t.Kind == state.KindBroadcast && len(t.parts) > 0 {
		return nil // every subtask holds the same copy
	}
	t.parts = append(t.parts, p)
	return nil
}

// fits refuses a row that is too large for the memory that the snapshot may take.
func (t *Table) fits(row int) error {
	if t.Operator == nil || t.Operator.snapshot == nil {
		return nil
	}
	if limit := t.Operator.snapshot.options.MaxRow; limit > 0 && row > limit {
		return fault.Unsupported(t.Operator.snapshot.Location, -1, "state %q: a row of %d bytes is not read with this much memory, no more than %d are", t.Name, row, limit)
	}
	return nil
}

// settle puts the parts in order and makes sure that no key group is in two of them, since its rows would be too.
func (t *Table) settle() error {
	slices.SortStableFunc(t.parts, func(a, b part) int { return cmp.Compare(a.groups.First, b.groups.First) })
	for i := 1; i < len(t.parts); i++ {
		if a, b := t.parts[i-1].groups, t.parts[i].groups; t.Keyed() && a.Overlaps(b) {
			return fault.Corrupt(t.Operator.snapshot.Location, 0, "state %q: two subtasks hold key groups %s and %s", t.Name, a, b)
		}
	}
	return nil
}

// chain walks several cursors one after the other, opening each when it is reached.
type chain struct {
	table *Table // nil inside of another cursor, which is asked instead
	opens []func() (Cursor, error)
	cur   Cursor
	err   error
}

func (c *chain) Next() bool {
	for c.err == nil {
		if c.cur != nil {
			if c.cur.Next() {
				if c.table != nil {
					c.err = c.table.fits(len(c.cur.Key()) + len(c.cur.Value()))
				}
				return c.err == nil
			}
			if c.err = c.cur.Err(); c.err != nil {
				return false
			}
			c.err, c.cur = c.cur.Close(), nil
			continue
		}
		if len(c.opens) == 0 {
			return false
		}
		c.cur, c.err = c.opens[0]()
		c.opens = c.opens[1:]
	}
	return false
}

func (c *chain) Key() []byte { return c.cur.Key() }

func (c *chain) Value() []byte { return c.cur.Value() }

func (c *chain) Schema() *state.Schema { return c.cur.Schema() }

func (c *chain) Err() error { return c.err }

func (c *chain) Close() error {
	c.opens = nil
	if c.cur == nil {
		return nil
	}
	err := c.cur.Close()
	c.cur = nil
	return err
}
