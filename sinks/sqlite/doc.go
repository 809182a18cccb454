// Package sqlite mirrors consumers into a SQLite file, in pure Go.
//
// It knows package sinks and what the sinks share. An epoch is one transaction, data and progress together; the file is in WAL
// mode, so readers see the epoch before or the epoch after and never wait.
//
// How the types are kept:
//
//	bool, int8 … int64         INTEGER (0 and 1 for bool)
//	float32, float64           no declared type, values REAL; NaN, which SQLite would turn into NULL, is the text 'NaN'. (A column
//	                           declared REAL, in a table made by somebody else, turns -0.0 into 0.0.)
//	bytes                      BLOB
//	string, decimal, bigint,   TEXT: decimals and big integers have no exact number type here, times are ISO 8601
//	dates and times, uuid,
//	json
//
// The table statebridge_progress holds one row a consumer: its position, the guard against a second worker (revision), and
// the columns that Statebridge has ever written.
package sqlite
