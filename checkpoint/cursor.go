package checkpoint

import "github.com/statebridge/statebridge/state"

// Entry is one row as a snapshot holds it.
type Entry interface {
	// Key is the composite key, Value the serialized value, both in the form that RocksDB gives them.
	Key() []byte
	Value() []byte
	// Schema describes this entry: the schemas of a table's subtasks may differ in what they have seen so far.
	Schema() *state.Schema
}

// Cursor walks the entries of a table in the order of their composite keys.
//
//	for c.Next() { use(c.Key(), c.Value()) }
//	err := errors.Join(c.Err(), c.Close())
type Cursor interface {
	// Next moves to the next entry; false at the end and after a fault.
	Next() bool
	// Entry is the present one, valid until the next Next.
	Entry
	// Err says why Next ended early, or nil.
	Err() error
	Close() error
}
