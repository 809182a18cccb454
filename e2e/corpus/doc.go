// Package corpus holds snapshots that real Flink jobs wrote, packed, each with the rows that it must hold, and compares rows with those.
//
// Rows are JSON objects, one a line, as the command export prints them and diff prints changes. Two forms of the same value are equal here: an
// object and the array of its members, a map with string keys and its pairs, a 32-bit float printed with more digits than it has.
//
// It knows no reader of snapshots: what it says about one is an opinion from outside. testdata/README.md says what the scenarios are.
package corpus
