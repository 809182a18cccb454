// Package verify compares the rows of a target with those of the snapshot that it stands at, and puts right what differs.
//
//	position of the target ──> its snapshot ──> rows, a batch at a time ──> the sink's Verification ──> differences ──> Mend, guarded by the position
//
// The target compares, since only it knows what its columns make of a value. A target that moves meanwhile is compared anew with the snapshot that
// it stands at then. Memory is a batch of rows; differences wait on disk until the comparison has ended well.
//
// It knows sinks, feed and checkpoint; cmd/statebridge knows it. It writes to the target only when asked to mend.
package verify
