// Package fluss reads what an Apache Fluss tablet server says of a KV snapshot: the _METADATA file, in JSON.
//
// A snapshot holds one bucket of a primary-key table. Below the server's remote data directory lies
//
//	kv/<database>/<table>-<table id>/[<partition>-p<partition id>/]<bucket>/
//	    shared/<uuid>         tables of the bucket's RocksDB, kept from snapshot to snapshot
//	    snap-<n>/_METADATA    where each file lies, and what RocksDB calls it
//	    snap-<n>/<uuid>       CURRENT, MANIFEST and OPTIONS of this snapshot
//
// The database is checkpoint/rocksdb's to read, its keys and rows are state's. The columns of the table are not in the snapshot.
//
// It knows fault only; checkpoint knows it.
package fluss
