package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/statebridge/statebridge/sinks"
)

// permanent says which SQLSTATEs no retry can mend; those of a value in a row are told apart in refused.
func permanent(state string) bool {
	switch state {
	case "42501", // insufficient_privilege
		"3D000", // invalid_catalog_name: no such database
		"3F000", // invalid_schema_name
		"0LP01", // invalid_grant_operation
		"54000", // program_limit_exceeded
		"54011": // too_many_columns
		return true
	}
	switch state[:min(2, len(state))] {
	case "22", // data exception
		"23", // integrity constraint violation
		"28": // invalid authorization
		return true
	}
	return false
}

// classify marks what no retry can mend, by SQLSTATE alone. Everything else (deadlocks, serialization failures, a server that
// stops, starts, is read-only, full or gone, a table that was changed under us) is tried again.
func classify(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	clean := discreet(e)
	if permanent(e.Code) && e.SchemaName != "pg_catalog" { // there, somebody made the same object at the same time: the next try finds it
		return sinks.Permanent(clean)
	}
	return clean
}

// discreet tells of an error without the values in it: details, contexts and the messages of data exceptions quote them, and so may those of users' triggers.
func discreet(e *pgconn.PgError) error {
	message := e.Message
	if class := e.Code[:min(2, len(e.Code))]; class == "22" || class == "23" || class == "P0" {
		message = refusedFor(e)
	}
	return &serverError{code: e.Code, message: message}
}

// refusedFor says why a row is refused.
func refusedFor(e *pgconn.PgError) string {
	if e.ConstraintName != "" {
		return fmt.Sprintf("%s (constraint %q)", meaning(e.Code), e.ConstraintName)
	}
	return meaning(e.Code)
}

// serverError is what is kept of a server's error.
type serverError struct{ code, message string }

func (e *serverError) Error() string {
	return fmt.Sprintf("postgres: %s (SQLSTATE %s)", e.message, e.code)
}

// SQLState makes the code readable by errors.As.
func (e *serverError) SQLState() string { return e.code }

func meaning(state string) string {
	switch state {
	case "22001":
		return "the text is longer than the column"
	case "22003":
		return "the number is out of the column's range"
	case "22007", "22008", "22009":
		return "the date or time is out of the column's range, or no date or time at all"
	case "22021", "22P05":
		return "the text holds a character that PostgreSQL can't store (NUL, or bytes that are no UTF-8)"
	case "22P02", "22P03", "22P04":
		return "the value can't be read as the column's type"
	case "23502":
		return "a column that must not be null would be"
	case "23505":
		return "another row has the same unique value"
	case "23503", "23514", "23P01":
		return "a constraint of the table does not hold"
	case "P0001":
		return "a trigger or function of the table's raises an exception"
	case "54000":
		return "the key is too long for an index (about 2700 bytes)"
	}
	return "the value is not accepted"
}

// A COPY error's context begins with: COPY statebridge_staging, line 12, column note: "…" (in the server's language).
var copyContext = regexp.MustCompile(`(?m)^COPY .+?, \S+ ([0-9]+)(?:, \S+ ([^:\n]+))?`)

// copyPlace finds the line and the column that a COPY broke off at; line 0 when the error has no such place.
func copyPlace(e *pgconn.PgError) (line int64, column string) {
	m := copyContext.FindStringSubmatch(e.Where)
	if m == nil {
		return 0, ""
	}
	line, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, ""
	}
	return line, m[2]
}
