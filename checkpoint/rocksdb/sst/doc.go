// Package sst reads RocksDB's block-based tables.
//
// It knows coding, ikey, fault, checkpoint/storage and its fetch; rocksdb knows it. A table is immutable, so a Table may serve many
// goroutines; an Iter serves one.
//
// From the file's end backwards: the footer says where the metaindex is, the metaindex names the other meta blocks, and the
// index leads to the data blocks. All numbers are little-endian.
//
//	+-------------+---+-------------+------------------+--------------+--------------+------------+-----------+--------+
//	| data block  | … | data block  | filter (parts)   | index (parts)| dictionary   | range del  | properties| meta-  |
//	|             |   |             |                  |              |              |            |           | index  | footer
//	+-------------+---+-------------+------------------+--------------+--------------+------------+-----------+--------+
//
// Every block is followed by its trailer, and a handle (varint64 offset, varint64 size) does not count it:
//
//	+---------------+------------------+---------------+
//	| block (size)  | compression (1B) | checksum (4B) |   checksum over block and compression byte
//	+---------------+------------------+---------------+
//
// Uncompressed, a block holds sorted entries, of which every 16th or so keeps its whole key: a restart.
//
//	+---------+---+---------+----------------------+------------------------+---------------------------+
//	| entry   | … | entry   | restarts (R × u32)   | [buckets (B), u16 B]   | u32: R, bit 31 has buckets |
//	+---------+---+---------+----------------------+------------------------+---------------------------+
//
//	+-------------------+---------------------+------------------+------------+-------+
//	| varint32 shared   | varint32 unshared   | varint32 length  | key suffix | value |
//	+-------------------+---------------------+------------------+------------+-------+
package sst
