// Package flink reads what Flink itself writes into a checkpoint or savepoint: the _metadata file, the handles in it, and
// the streams of key groups and of operator state that the handles point to. Integers are big-endian.
//
// The _metadata file, versions 2 (Flink 1.3) to 6 (Flink 2.3):
//
//	+-----------------------+--------------+--------------------+---------------+-----------------+----------------------+
//	| magic 0x4960672d (4B) | version (4B) | checkpoint id (8B) | master states | operator states | properties (4 and up) |
//	+-----------------------+--------------+--------------------+---------------+-----------------+----------------------+
//
//	operator   [utf name, utf uid (5 and up)] id (16B) parallelism (4B) max parallelism (4B) [coordinator handle (3 and up)]
//	           [chain length (2 only)] n (4B; -1 = finished) n × { index (4B; -v-1 = finished), state }
//	state      managed operator, raw operator, managed keyed, raw keyed state [, input and output channels (3 and up)]
//
// A handle is a tag byte and what the tag demands (handle.go has the numbers): it names a file, a part of one, or holds
// the bytes itself. Resolver opens the files wherever the snapshot has been moved to, and nothing outside of it.
//
// It knows state, checkpoint/storage, its fetch and fault; checkpoint knows it. RocksDB's own files are checkpoint/rocksdb's.
package flink
