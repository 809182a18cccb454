// Package postgres mirrors consumers into tables of a PostgreSQL database.
//
// It knows package sinks and what the sinks share. One epoch is one transaction:
//
//	BEGIN
//	SELECT … FROM statebridge.progress … FOR UPDATE    the guard: another revision than the one seen means ErrFenced
//	CREATE TEMP TABLE statebridge_staging … ON COMMIT DROP    if there are changes
//	COPY statebridge_staging FROM STDIN                streamed, text straight from the rows' JSON
//	DELETE FROM table USING staging …                  the last change of each key decides; in key order, so that two
//	INSERT INTO table SELECT … ON CONFLICT DO UPDATE   writers of the same rows lock them in the same order
//	UPDATE statebridge.progress …
//	COMMIT
//
// A reader sees the epoch before or the epoch after. With several tables all between BEGIN and COMMIT is done for each, in the order of their names, so that two
// workers lock in the same order. A full epoch also deletes the rows that staging lacks; into an empty
// table it is copied without staging.
//
// What only the server refuses (a constraint, a text that is no uuid) ends the transaction without a name. The epoch then comes again and is applied with care
// (careful.go): staging keeps each row's change, and what is refused is done again in halves, within savepoints, until the row is alone. It is then refused by its place, or left
// out where the table's owner keeps it.
//
// # Connections
//
// Statements run unprepared, in one round trip with their parameters (pgx's exec mode), and nothing of a session outlives a
// transaction: no SET, no advisory lock, no prepared statement, no temporary table. So PgBouncer may pool transactions. After an error
// a connection is closed and not reused; with several hosts in the address and target_session_attrs=read-write, the
// next one finds the writer.
//
// # Types
//
//	bool boolean · int8, int16 smallint · int32 integer · int64 bigint · float32 real · float64 double precision
//	decimal, bigint numeric · string text · bytes bytea · date date · time time · datetime timestamp · instant timestamptz
//	uuid uuid (its JSON is always the canonical form) · json jsonb
//
// A column that somebody made as text takes any type, as it is written in JSON; json and jsonb likewise. jsonb keeps numbers as numeric,
// so -0.0 inside a nested value becomes 0.0. What a column can't hold exactly is refused by a sinks.RowError: NUL in text and
// jsonb, half a surrogate pair, more than six digits of a second, more digits than a numeric(p,s) has.
//
// # Rights
//
// CREATE on the schema of the tables (unless they exist) and on the database for the schema statebridge (unless it exists), SELECT, INSERT, UPDATE
// and DELETE on the tables, TEMPORARY on the database. Only tables that Statebridge created are widened.
package postgres
