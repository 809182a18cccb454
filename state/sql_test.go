package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func sqlOf(root string, precision, scale int) *sqlType {
	return &sqlType{root: root, precision: precision, scale: scale, typ: Type{Kind: sqlKinds[root], Nullable: true}}
}

func sqlRowOf(fields ...*sqlType) *sqlType {
	t := &sqlType{root: "ROW", typ: Type{Kind: Tuple}, fields: fields}
	for i, f := range fields {
		t.typ.Fields = append(t.typ.Fields, Field{positionName(i), &f.typ})
	}
	return t
}

func sqlArrayOf(elem *sqlType) *sqlType {
	return &sqlType{root: "ARRAY", elem: elem, typ: Type{Kind: List, Elem: &elem.typ, Nullable: true}}
}

func sqlMapOf(key, elem *sqlType) *sqlType {
	return &sqlType{root: "MAP", key: key, elem: elem, typ: Type{Kind: Map, Key: &key.typ, Elem: &elem.typ, Nullable: true}}
}

// everyRow has a field of each way to be stored.
var everyRow = sqlRowOf(sqlOf("BIGINT", 0, 0), sqlOf("VARCHAR", 0, 0), sqlOf("DECIMAL", 10, 2), sqlOf("DECIMAL", 30, 2),
	sqlOf("TIMESTAMP_WITHOUT_TIME_ZONE", 3, 0), sqlOf("TIMESTAMP_WITHOUT_TIME_ZONE", 6, 0), sqlArrayOf(sqlOf("INTEGER", 0, 0)))

const everyRowBytes = `00000068 0200000000000000 feffffffffffffff 6869000000000082 7d00000000000000 0100000040000000 0700000000000000 0900000050000000 1000000058000000
	83000000000000000000000000000000 0700000000000000 02000000 02000000 01000000 00000000`

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestSQLValues(t *testing.T) {
	strings1 := sqlMapOf(sqlOf("VARCHAR", 0, 0), sqlOf("INTEGER", 0, 0))
	for _, c := range []struct {
		codec    Codec
		hex, out string
	}{
		{&sqlCodec{everyRow}, everyRowBytes, `[-2,"hi","1.25","-1.25","1970-01-01T00:00:00.007","1970-01-01T00:00:00.007000009",[1,null]]`},
		{&sqlCodec{sqlRowOf(sqlOf("DATE", 0, 0), sqlOf("TIME_WITHOUT_TIME_ZONE", 0, 0), sqlOf("BOOLEAN", 0, 0), sqlOf("FLOAT", 0, 0), sqlOf("SMALLINT", 0, 0), sqlOf("TIMESTAMP_WITH_LOCAL_TIME_ZONE", 3, 0), sqlOf("VARBINARY", 0, 0))},
			"00000040 0000000000000000 e94a000000000000 60ea000000000000 0100000000000000 0000c03f00000000 ffff000000000000 e803000000000000 ff00000000000081",
			`["2022-07-04","00:01",true,1.5,-1,"1970-01-01T00:00:01Z","/w=="]`},
		{&sqlCodec{sqlRowOf(sqlOf("INTEGER", 0, 0))}, "00000010 0001000000000000 0000000000000000", "[null]"},
		{&sqlCodec{sqlArrayOf(sqlOf("VARCHAR", 0, 0))}, "00000018 02000000 00000000 6162000000000082 0000000000000080", `["ab",""]`},
		{&sqlCodec{strings1}, "00000028 10000000 01000000 00000000 6b00000000000081 01000000 00000000 05000000 00000000 00000000", `{"k":5}`},
		{&sqlCodec{unknownSQL("T", "why not")}, "00000001 00", `{"$raw":"AA==","$type":"T","$why":"why not"}`},
		{sqlStringCodec, "00000002 c3bc", `"ü"`}, {sqlDecimal(18, 2), "000000000000007d", `"1.25"`}, {sqlDecimal(38, 10), "00000001 ff", `"-0.0000000001"`},
		{sqlTimestamp(DateTime, 3), "0000000000000000", `"1970-01-01T00:00"`}, {sqlTimestamp(Instant, 9), "ffffffffffffffff 00000001", `"1969-12-31T23:59:59.999000001Z"`},
		{sqlDay(sqlOf("DATE", 0, 0)), "ffffffff", `"1969-12-31"`}, {sqlDay(sqlOf("TIME_WITHOUT_TIME_ZONE", 0, 0)), "00000001", `"00:00:00.001"`},
		{&sqlListCodec{elem: int8Codec, masked: true}, "00000003 40 01 03", "[1,null,3]"}, {&sqlListCodec{elem: int8Codec}, "00000002 01 03", "[1,3]"},
		{newWindowKey([]Codec{sqlStringCodec}), "0000000000000007 00000001 6b", `[7,"k"]`}, {dataViewCodec, "00", "null"},
		{newStreamElement([]Codec{int8Codec}), "00 0000000000000005 07", `{"timestamp":5,"value":7}`}, {newStreamElement([]Codec{int8Codec}), "01 07", `{"timestamp":null,"value":7}`},
		{newStreamElement([]Codec{int8Codec}), "02 0000000000000005", `{"watermark":5}`},
	} {
		if got, err := decode(t, c.codec, unhex(t, squeeze(c.hex))); err != nil || got != c.out {
			t.Errorf("%s of %s: %s, %v; want %s", c.codec.Type(), c.hex, got, err, c.out)
		}
	}
}

func TestSQLRefuses(t *testing.T) {
	nested := sqlArrayOf(sqlArrayOf(sqlOf("INTEGER", 0, 0)))
	for _, c := range []struct {
		codec     Codec
		hex, text string
	}{
		{&sqlCodec{everyRow}, "00000008 0000000000000000", "a row of 7 fields in 8 bytes"},
		{&sqlCodec{sqlArrayOf(sqlOf("INTEGER", 0, 0))}, "00000004 ffffff7f", "an array of 2147483647 elements in 4 bytes"},
		{&sqlCodec{sqlMapOf(sqlOf("INTEGER", 0, 0), sqlOf("INTEGER", 0, 0))}, "00000004 ffffffff", "a map of 4 bytes"},
		{&sqlCodec{sqlRowOf(sqlOf("VARCHAR", 0, 0))}, "00000010 0000000000000000 0a00000010000000", "a part of 10 bytes at 16 of 16 does not fit"},
		{&sqlCodec{sqlRowOf(sqlOf("VARCHAR", 0, 0))}, "00000010 0000000000000000 00000000000000ff", "127 bytes in a slot"},
		{&sqlCodec{nested}, "00000020 02000000 00000000 0800000018000000 0800000018000000 0000000000000000", "does not fit"}, // two elements of the same bytes
		{sqlTimestamp(DateTime, 6), "0000000000000000 000f4240", "1000000 nanoseconds of a millisecond"},
		{sqlDay(sqlOf("TIME_WITHOUT_TIME_ZONE", 0, 0)), "05265c00", "86400000 ms of a day"},
		{sqlDecimal(38, 10), "00000000", "a decimal of 0 bytes"},
		{&sqlListCodec{elem: int8Codec, masked: true}, "7fffffff 00", "count 2147483647 does not fit"},
	} {
		_, err := decode(t, c.codec, unhex(t, c.hex))
		if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s of %s: %v; want %q", c.codec.Type(), c.hex, err, c.text)
		}
	}
}

// TestSQLRowComesBack writes the row of TestSQLValues from its JSON, but for the array, which no key has.
func TestSQLRowComesBack(t *testing.T) {
	row := sqlRowOf(everyRow.fields[:6]...)
	const text = `[-2,"a longer string","1.25","-1.25","1970-01-01T00:00:00.007","1970-01-01T00:00:00.007000009"]`
	b, err := (&sqlCodec{row}).AppendKey(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(t, &sqlCodec{row}, b); err != nil || got != text {
		t.Fatal(got, err)
	}
}

func FuzzSQL(f *testing.F) {
	codecs := []Codec{&sqlCodec{everyRow}, &sqlCodec{sqlArrayOf(sqlMapOf(sqlOf("VARCHAR", 0, 0), everyRow))}, &sqlCodec{sqlMapOf(everyRow, sqlArrayOf(sqlOf("TINYINT", 0, 0)))},
		&sqlListCodec{elem: sqlStringCodec, masked: true}, sqlDecimal(38, 38), sqlTimestamp(Instant, 9)}
	for i := range codecs {
		f.Add(i, unhex(f, squeeze(everyRowBytes)))
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		text, err := decode(t, codecs[uint(i)%uint(len(codecs))], b)
		checkFault(t, err)
		if err == nil {
			checkJSON(t, []byte(text))
		}
		if len(text) > 1<<16+100*len(b) {
			t.Fatalf("%d bytes of JSON from %d", len(text), len(b))
		}
	})
}
