package sinks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/statebridge/statebridge/stream"
)

// Drift is what a target does when the schema of the state has grown since its table was made. A column that is gone from the state stays, whatever is chosen.
type Drift string

// The choices.
const (
	DriftAdd    Drift = "add"    // adds the columns and widens numbers, in tables that Statebridge created; the zero Drift does too
	DriftStop   Drift = "stop"   // refuses the epoch
	DriftIgnore Drift = "ignore" // leaves the new columns out; a type that grew is refused, since its values would not fit
)

// Valid says whether a Drift is one of the choices.
func (d Drift) Valid() bool {
	return slices.Contains([]Drift{"", DriftAdd, DriftStop, DriftIgnore}, d)
}

// Changes says whether tables may be altered.
func (d Drift) Changes() bool { return d == "" || d == DriftAdd }

// Split parts the columns into those that a target takes and those that it leaves out, which are none unless new columns are ignored.
func (d Drift) Split(columns []stream.Column, has func(stream.Column) bool) (kept, ignored []stream.Column) {
	if d != DriftIgnore {
		return columns, nil
	}
	for _, c := range columns {
		if c.Key || has(c) {
			kept = append(kept, c)
		} else {
			ignored = append(ignored, c)
		}
	}
	return kept, ignored
}

// Check refuses what must not be altered: columns that the table lacks, if they are not to be left out, and types that grew.
func (d Drift) Check(t Table, lacks, grown []stream.Column) error {
	if d == DriftIgnore {
		lacks = nil
	}
	if d.Changes() || len(lacks) == 0 && len(grown) == 0 {
		return nil
	}
	var parts []string
	for _, c := range lacks {
		parts = append(parts, fmt.Sprintf("the new column %q (%s)", c.Name, c.Type))
	}
	for _, c := range grown {
		parts = append(parts, fmt.Sprintf("the column %q, now %s", c.Name, c.Type))
	}
	return Permanent(fmt.Errorf("consumer %q: the state has changed by %s, and schema_drift is %s: alter the table yourself, or set schema_drift to add", t.Consumer, strings.Join(parts, ", "), d))
}
