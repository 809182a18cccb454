// Package differ turns two snapshots of a table, base and next, into ordered changes.
//
//	base ──┐
//	       ├── merged by composite key ── equal bytes: nothing ── equal values: nothing ── else a Change
//	next ──┘
//
// Where both lie in databases that share files, checkpoint plans which key groups can be compared without reading those, and shows the
// keys in question only.
//
// Identity is the serialized key, equality the logical value: bytes that differ are decoded and compared as canonical JSON, so
// that a rewrite, another backend or a moved TTL timestamp gives no change. Memory is one entry a side, plus what the
// cursors of an unsorted backend may sort in.
//
// It knows checkpoint and state; feed and commands know it. It opens no file and no connection of its own.
package differ
