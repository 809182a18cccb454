// Package sqltable writes the SQL that PostgreSQL and SQLite have in common.
//
// It knows the columns of package stream and no database. Each identifier is quoted, so a name means itself: case, blanks,
// reserved words and quotes included.
package sqltable

import (
	"slices"
	"strings"

	"github.com/statebridge/statebridge/stream"
)

// Quote makes an identifier of a name.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// List gives the quoted names of columns, separated by commas, each behind prefix ("" or an alias and a dot).
func List(prefix string, columns []stream.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = prefix + Quote(c.Name)
	}
	return strings.Join(names, ", ")
}

// Keys gives the columns that identify a row.
func Keys(columns []stream.Column) (keys []stream.Column) {
	for _, c := range columns {
		if c.Key {
			keys = append(keys, c)
		}
	}
	return keys
}

// Insert begins an INSERT; a VALUES list or a SELECT of the same columns follows.
func Insert(table string, columns []stream.Column) string {
	return "INSERT INTO " + table + " (" + List("", columns) + ") "
}

// OnConflict ends an INSERT so that a row whose key is there takes the new values. The columns gone, which the rows once had, become null.
func OnConflict(columns []stream.Column, gone []string) string {
	var sets []string
	for _, c := range columns {
		if !c.Key {
			sets = append(sets, Quote(c.Name)+" = excluded."+Quote(c.Name))
		}
	}
	for _, name := range gone {
		sets = append(sets, Quote(name)+" = NULL")
	}
	conflict := " ON CONFLICT (" + List("", Keys(columns)) + ") DO "
	if len(sets) == 0 {
		return conflict + "NOTHING"
	}
	return conflict + "UPDATE SET " + strings.Join(sets, ", ")
}

// SameKey compares the keys of two aliases.
func SameKey(a, b string, columns []stream.Column) string {
	var terms []string
	for _, k := range Keys(columns) {
		terms = append(terms, a+"."+Quote(k.Name)+" = "+b+"."+Quote(k.Name))
	}
	return strings.Join(terms, " AND ")
}

// Gone gives the names, of those once written, that are no longer among the columns.
func Gone(written []string, columns []stream.Column) (gone []string) {
	for _, name := range written {
		if !slices.ContainsFunc(columns, func(c stream.Column) bool { return c.Name == name }) {
			gone = append(gone, name)
		}
	}
	return gone
}
