// Package render prints rows for a person or a file: as JSON Lines, JSON, CSV, Parquet, or a table.
//
// A row comes as one flat JSON object of its columns, the canonical JSON of package state, and each format keeps what a value says:
//
//	column type             jsonl, json     csv                 parquet                      table
//	bool                    true            true                BOOLEAN                      true
//	int8 int16 int32 int64  1               1                   INT32 or INT64, INT(n)       1
//	float32 float64         1.5 "NaN"       1.5 NaN             FLOAT, DOUBLE                1.5 NaN
//	string uuid             "a\tb"          a<tab>b             STRING                       a\tb
//	decimal bigint          "1.50"          1.50                STRING                       1.50
//	bytes                   "AQI="          AQI=                BYTE_ARRAY, 01 02            AQI=
//	date                    "2026-01-02"    2026-01-02          DATE                         2026-01-02
//	time                    "15:04:05"      15:04:05            TIME(NANOS)                  15:04:05
//	datetime instant        "…T15:04:05Z"   …T15:04:05Z         TIMESTAMP(MICROS or NANOS)   …T15:04:05Z
//	json                    {"a":[1]}       "{""a"":[1]}"       JSON                         {"a":[1]}
//	null                    null, absent    an empty field      null                         blank
//
// What a format can't hold is an error that names the row and the column: nothing is altered, cut or left out in silence. There are two places
// where one text can stand for two values, and both are for the eye:
//
//   - A lone surrogate (half of a UTF-16 pair, which Java's strings may hold and UTF-8 can't) prints as \uXXXX in the string columns of CSV and
//     of a table, as the six characters themselves would. Parquet refuses it.
//   - A table shows characters that do not print as escapes, and on a terminal a long cell ends in "…".
//
// Decimals and big integers are text in Parquet: its DECIMAL has one precision and one scale for a whole column, while Java's values have no bound and
// each decimal has a scale of its own (1.50 is not 1.5).
//
// In a json column of CSV and of a table a string stands without its quotes, unless it would read as another JSON value then: the number 1 is 1,
// the string is "1". So who reads the column takes a field as JSON, and as a string where it is none.
//
// The package knows jsonscan; only cmd knows it. It writes to the writer that it is given and opens nothing.
package render
