// Package state reads what Flink's serializers wrote: serializer snapshots become a schema, a schema turns bytes into rows.
//
// It knows state/javaio, jsonscan and fault; checkpoint, differ and whatever lies above know it. It does no I/O.
//
// A snapshot stream opens with a proxy that names every state and its serializers, all numbers big-endian:
//
//	+--------------+------------------+----------------+-----------------+------------------------+
//	| version (4B) | compression (1B) | key serializer | n states (2B)   | n × meta info          |
//	+--------------+------------------+----------------+-----------------+------------------------+
//	meta info:  | name (utf) | backend type (4B) | n options (4B), utf pairs | n serializers (4B), utf + snapshot |
//	snapshot:   | class (utf) | version (4B) | payload, whose layout the class decides |
//
// A composite key, as RocksDB holds it, is what identifies a row. The lengths stand there only when neither serializer
// has a fixed one, low byte first, as many bytes as the number needs:
//
//	+-------------------+-----+--------------+-----------+--------------------+-----------------+
//	| key group (1, 2B) | key | [key length] | namespace | [namespace length] | [map's user key] |
//	+-------------------+-----+--------------+-----------+--------------------+-----------------+
//	timer: | key group | timestamp (8B, sign flipped) | key | namespace |
//
// A value decodes to canonical JSON: equal logical values give equal bytes, whichever backend or Flink version wrote
// them. See TypeKind for the form of each.
//
// What cannot be decoded is never guessed: a row shows {"$raw":…,"$type":…,"$why":…} in its place, and where bytes have
// no frame of their own (heap streams) the fault names the class.
package state
