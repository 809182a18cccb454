package sqltable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/statebridge/statebridge/sinks"
)

// Check finds what no table can be made of: no key, a name twice, a name that holds NUL.
func Check(t sinks.Table) error {
	var faults []error
	seen := map[string]bool{}
	for _, c := range t.Columns {
		if c.Name == "" || strings.ContainsRune(c.Name, 0) {
			faults = append(faults, fmt.Errorf("consumer %q: column %q has a name that SQL can't express", t.Consumer, c.Name))
		}
		if seen[c.Name] {
			faults = append(faults, fmt.Errorf("consumer %q: column %q is there twice", t.Consumer, c.Name))
		}
		seen[c.Name] = true
	}
	if len(Keys(t.Columns)) == 0 {
		faults = append(faults, fmt.Errorf("consumer %q: no column is part of the key", t.Consumer))
	}
	if t.Consumer == "" || strings.ContainsRune(t.Consumer, 0) {
		faults = append(faults, fmt.Errorf("consumer %q: no table can have this name", t.Consumer))
	}
	return sinks.Permanent(errors.Join(faults...))
}

// Remake says what to do about a table that Statebridge created for columns which no longer fit, such as a key of another name.
func Remake(table string) error {
	return fmt.Errorf("it was created by Statebridge for other columns: drop the table %s, or give the consumer another name; its rows come again with the next full epoch", table)
}
