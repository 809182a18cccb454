// Package spill sorts key/value pairs in bounded memory: what does not fit is written to sorted runs in a directory of the
// caller's and merged back.
//
// It knows nobody; checkpoint and differ know it. A run file is unlinked as soon as it is open where the system allows it,
// so that a killed process leaves nothing behind. A run is a sequence of
//
//	+----------------------+------------------------+-----+-------+
//	| key length (uvarint) | value length (uvarint) | key | value |
//	+----------------------+------------------------+-----+-------+
package spill
