// Package sinks keeps targets equal to the newest snapshot of a state.
//
// It knows registry and stream, from which a Worker takes the epochs of one consumer, and nothing below them. sinks/postgres,
// sinks/redis and sinks/sqlite are the targets; they know this package, sinks/row and sinks/sqltable. cmd/statebridge puts
// the two together.
//
// # The loop
//
//	Position ──> Next ──> Prepare ──> Begin ──> Apply … Apply ──> Commit ──┐
//	    ^         (the columns changed)  │ guard                           │
//	    └───────────────────────────────-┴─────────────────────────────────┘
//
// A target keeps its own Position, written with the rows. Each round reads it afresh, so a reply to a commit that was lost, a
// table that somebody emptied, a target that was restored from a backup and a worker that was replaced are all found
// the same way: by looking. A Transaction begins only if the target still stands where it was seen (Position.Revision) and otherwise
// fails with ErrFenced; whoever lost its place can't write any more.
//
// A Worker of several tables (atomic: source) leads them to the first step that all can reach, in one Joint transaction:
//
//	Position  ──> Next ──┐ lengthen the ways                                ┌─> Finish ─> Then ─> Apply …┐ next table
//	Position  ──> Next ──┴ until all end with ──> Prepare all ──> Begin ──> Apply … ─────────────────────┴─> Commit
//	Position  ──> Next ──┘ the same step
//
// # Errors
//
// Every error but a PermanentError is retried for ever, with a growing, jittered pause: the whole epoch again, from Position on. Nothing
// is acknowledged meanwhile. A PermanentError (a value that the target can't hold, a table that does not fit) ends the Worker and names
// what must change, unless a newer full epoch makes the refused one unnecessary; Statebridge never drops or alters a value to get on.
//
// # Where a target begins
//
// A target without rows asks for a full epoch of the newest snapshot unless the newest epoch is one. The old full epoch in the stream
// with all the deltas behind it would give the same rows in the end, but readers would see the past once more on the way there; it serves only
// where no publisher answers.
package sinks
