// Package checkpoint opens snapshots: completed checkpoints and savepoints of a job, wherever they lie.
//
//	Open ──> Snapshot ──> Operator ──> Table ──> Cursor: (key, value) pairs in key order, whatever the backend
//	                                         └─> Lookup: one key, without reading the rest
//
// A Table is one registered state of one operator. Its entries have the form that RocksDB gives them: the composite key
// (key group, key, namespace, user key) and the serialized value; state.Schema turns both into rows. Entries of a heap
// backend are brought into the same form and order, so that snapshots of different backends can be compared.
//
// Discover finds the complete snapshots below a checkpoint directory; Pins keep their files readable after the job has
// deleted them.
//
// A KV snapshot of Fluss is one bucket of a table: an operator without a name, and one Table.
//
// It knows checkpoint/flink, checkpoint/fluss, checkpoint/rocksdb, checkpoint/spill, checkpoint/storage, checkpoint/storage/fetch and state; differ and feed know it.
// It writes to the directory of its Pins and to the given directory for temporary files only, and never into a job's.
package checkpoint
