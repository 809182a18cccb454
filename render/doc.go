// Package render prints rows for a person or a file: as JSON Lines, JSON, CSV, Parquet, or a table.
//
// A row comes as one flat JSON object of its columns, the canonical JSON of package state, and each format keeps what a value says:
//
//	column type             jsonl, json     csv                 parquet                      table
//	bool                    true            true                BOOLEAN                      true
//	int8 int16 int32 int64  1               1                   INT32 or INT64, INT(n)       1
//	float32 float64         1.5 "NaN"       1.5 NaN             FLOAT, DOUBLE                1.5 NaN
//	string uuid             "a\tb"          a<tab>b             STRING                       a\tb
//	decimal bigint          "1.50"          1.50                STRING, see parquetKind      1.50
//	bytes                   "AQI="          AQI=                BYTE_ARRAY, 01 02            AQI=
//	date                    "2026-01-02"    2026-01-02          DATE                         2026-01-02
//	time                    "15:04:05"      15:04:05            TIME(NANOS)                  15:04:05
//	datetime instant        "…T15:04:05Z"   …T15:04:05Z         TIMESTAMP(MICROS or NANOS)   …T15:04:05Z
//	json                    {"a":[1]}       "{""a"":[1]}"       JSON                         {"a":[1]}
//	null                    null, absent    an empty field      null                         blank
//
// What a format can't hold is an error that names the column: nothing is altered, cut or left out in silence. The one exception is the
// table on a terminal, where a long cell ends in "…".
//
// The package knows no other room of the repository; only cmd knows it. It writes to the writer that it is given and opens nothing.
package render
