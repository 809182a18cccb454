// Package stream carries changes from a differ to the sinks over NATS JetStream, in whole epochs.
//
// It knows nothing of snapshots, tables or targets; registry, feed and sinks know it.
//
// An epoch is what one consumer publishes for one step from snapshot A to snapshot B. Its lines are spread over the consumer's partitions,
// one subject each, and become an epoch by one write: the record in a key-value bucket, which only one attempt can create.
//
//	subject <prefix>.<source>.<consumer>.0       begin  change change change …  commit
//	subject <prefix>.<source>.<consumer>.1       begin  change change …         commit
//	subject <prefix>.<source>.<consumer>.epochs  begin ───────────────────────► commit ── decides; each fenced by the sequence of the line before
//	                                                                               │
//	bucket  <prefix>_<source>_epochs             <consumer>.<number> = record ◄────┘ created once: the commit point for readers
//
// Bodies hold JSON lines. What a begin line opens and no record names is an attempt that nobody applies, whatever became of its publisher.
// The README of this package says what is guaranteed, why, and what is refused.
package stream
