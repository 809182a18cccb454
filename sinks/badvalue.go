package sinks

import (
	"errors"
	"slices"

	"github.com/statebridge/statebridge/sinks/row"
	"github.com/statebridge/statebridge/stream"
)

// BadValue is what a target does with a value that it can't hold.
type BadValue string

// The choices.
const (
	BadReject  BadValue = "reject"  // refuses the epoch; the zero BadValue does too
	BadReplace BadValue = "replace" // writes what a row.UnfitError says instead
)

// Valid says whether a BadValue is one of the choices.
func (b BadValue) Valid() bool {
	return slices.Contains([]BadValue{"", BadReject, BadReplace}, b)
}

// StandIns gives what is written in the place of values that a target can't hold, and counts. Transactions embed it.
type StandIns struct {
	On     BadValue
	counts map[string]uint64
}

// Instead gives what stands in for a value that could not be written because of err; nil is null. A key has no stand-in: it could be that of
// another row.
func (s *StandIns) Instead(c stream.Column, value []byte, err error) (instead []byte, ok bool) {
	var unfit *row.UnfitError
	if s.On != BadReplace || c.Key || !errors.As(err, &unfit) {
		return nil, false
	}
	if s.counts == nil {
		s.counts = map[string]uint64{}
	}
	s.counts[c.Name]++
	return unfit.Instead(value), true
}

// Replaced says how many values of each column were replaced.
func (s *StandIns) Replaced() map[string]uint64 { return s.counts }

// replaced asks a transaction that may have replaced values.
func replaced(tx Transaction) map[string]uint64 {
	if t, ok := tx.(interface{ Replaced() map[string]uint64 }); ok {
		return t.Replaced()
	}
	return nil
}
