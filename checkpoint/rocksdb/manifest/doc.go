// Package manifest reads RocksDB's MANIFEST: which table files are live in which column family.
//
// It knows coding, ikey and fault; rocksdb knows it. It opens no file: the caller brings the bytes.
//
// A MANIFEST is a log of 32 KiB blocks. A record that does not fit the rest of a block is cut into fragments:
//
//	+--------------------+-------------+-----------+---------+
//	| masked CRC32C (4B) | length (2B) | type (1B) | payload |   type 1 full, 2 first, 3 middle, 4 last; LE
//	+--------------------+-------------+-----------+---------+
//
// A record is one version edit, a row of tagged fields:
//
//	+----------------+---------------+----------------+---------------+--
//	| tag (varint32) | its own layout | tag (varint32) | its own layout | …
//	+----------------+---------------+----------------+---------------+--
//
// A tag that nobody knows is skipped by its length when bit 13 is set, and refused by number when not: it may change what
// the other fields mean.
package manifest
