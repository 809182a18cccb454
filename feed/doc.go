// Package feed follows a source: it waits for new snapshots, pins them, diffs each consumer's table against what was last
// published, and publishes the changes as an epoch. A Feed has one consumer, or several that step together: to the same snapshot, by an epoch each, or not at all.
//
//	Watch ──> pin ──> open ──> diff by partition ──> epoch ──> release the old base ──> trim
//
// The base of a diff is the snapshot of the newest epoch in the stream, kept readable by a pin, so that a snapshot which the job
// deleted, or which was passed over, costs a coarser history and never a change. Without that base the next epoch is a full
// one. A snapshot that can't be read in full publishes nothing, and one in which most rows are missing waits for an answer.
//
// It knows differ, checkpoint, stream and registry; cmd/statebridge knows it. It writes to the stream and the pins only.
package feed
