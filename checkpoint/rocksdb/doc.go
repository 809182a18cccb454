// Package rocksdb reads RocksDB databases as checkpoints keep them, without RocksDB: one ordered view over the tables of a
// column family.
//
// It knows manifest, sst, ikey, fault, checkpoint/storage and its fetch; checkpoint knows it. Nothing is ever written, no directory is
// listed: CURRENT names the MANIFEST, the MANIFEST names the tables, and an Opener finds each by its name in the database,
// since a snapshot may keep it under any other.
//
//	CURRENT          "MANIFEST-000004\n"
//	MANIFEST-000004  version edits: families and their live tables (package manifest)
//	000010.sst       entries of one family (package sst)
//
// What is visible is a matter of sequence numbers alone. Of each user key's entries over all tables, newest first:
// the first value is the key's value, a deletion hides what is older, merge operands gather until one of these ends them,
// and a range tombstone hides what is older than itself within its bounds, which end at those of its file.
//
// Difference compares two databases that have tables in common without reading those through.
package rocksdb
