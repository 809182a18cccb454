package differ

import "github.com/statebridge/statebridge/state"

// Op is what happened to a row, as it is printed.
type Op byte

// The operations.
const (
	Read   Op = 'r' // a row of a snapshot that has no base
	Create Op = 'c'
	Update Op = 'u'
	Delete Op = 'd'
)

func (o Op) String() string { return string(rune(o)) }

// Change is one row that differs. Before is nil for Read and Create, After for Delete. Both are valid until the next
// change is asked for.
type Change struct {
	Op            Op
	Before, After *state.Row
}

// BaseError says that it was the base that could not be read, so that a diff against another one, or a full read of next, may well succeed.
type BaseError struct{ Err error }

func (e *BaseError) Error() string { return "base: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *BaseError) Unwrap() error { return e.Err }

// Row gives the side that has a value: After, or Before for a Delete.
func (c Change) Row() *state.Row {
	if c.After != nil {
		return c.After
	}
	return c.Before
}
