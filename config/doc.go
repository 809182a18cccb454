// Package config reads the file that says what Statebridge follows and where it writes.
//
// A setting comes from the command line, else from a variable STATEBRIDGE_…, else from the file, else from its default. The file
// is YAML; ${VAR}, ${VAR:-default} and $$ are replaced in its scalar values after parsing, so that the text of a variable
// can never become structure. Every fault is found in one pass and named by its path:
//
//	source.flink.checkpoints: is required
//	sinks[0].redis.ulr: is unknown (line 12); known are encoding, grace, key, publish, tls, url, url_file
//
// The package is a leaf: it knows no other room, opens no connection, and reads only the file itself and the files that
// members like url_file name. What needs a snapshot or a server to be checked (operators, columns, tables) is checked by
// the room that opens it.
package config
