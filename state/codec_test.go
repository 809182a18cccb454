package state

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// unhex reads hex in which spaces may stand.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode reads one value that takes all of b, and checks that Skip steps over just as much.
func decode(t testing.TB, c Codec, b []byte) (string, error) {
	t.Helper()
	r := javaio.NewReader("test", 0, b)
	got := c.AppendJSON(nil, r)
	r.End()
	s := javaio.NewReader("test", 0, b)
	c.Skip(s)
	s.End()
	if r.Err() == nil && s.Err() != nil {
		t.Errorf("%s: AppendJSON reads %x, Skip says %v", c.Type(), b, s.Err())
	}
	return string(got), r.Err()
}

var point = &objectCodec{typ: Type{Kind: Object, Class: "Point"}}

func init() {
	point.field("x", int32Codec)
	point.field("label", stringCodec) // stored after x, sorted before it
	point.registered = []subclass{point.subclass("Point3", point3)}
	point.others = map[string]*subclass{"Odd": {classMember("Odd"), int64Codec}}
	point.arrange()
}

var point3 = func() *objectCodec {
	c := &objectCodec{typ: Type{Kind: Object, Class: "Point3"}}
	c.field("z", float64Codec)
	c.arrange()
	return c
}()

func TestCodecs(t *testing.T) {
	color := &enumCodec{typ: Type{Kind: Enum, Class: "Color", Symbols: []string{"RED", "GREEN"}}, quoted: [][]byte{[]byte(`"RED"`), []byte(`"GREEN"`)}}
	pair := newTuple([]Codec{stringCodec, int64Codec})
	for _, c := range []struct {
		codec    Codec
		hex, out string
	}{
		{boolCodec, "00", "false"}, {boolCodec, "02", "true"},
		{int8Codec, "80", "-128"}, {int16Codec, "8000", "-32768"}, {int32Codec, "7fffffff", "2147483647"},
		{int64Codec, "8000000000000000", "-9223372036854775808"}, {int64Codec, "0020000000000001", "9007199254740993"},
		{float32Codec, "3dcccccd", "0.1"}, {float32Codec, "3f800000", "1.0"}, {float32Codec, "80000000", "-0.0"}, {float32Codec, "7fc00001", `"NaN"`},
		{float64Codec, "3fb999999999999a", "0.1"}, {float64Codec, "fff0000000000000", `"-Infinity"`}, {float64Codec, "7ff0000000000000", `"Infinity"`},
		{float64Codec, "7fefffffffffffff", "1.7976931348623157e+308"}, {float64Codec, "0000000000000001", "5e-324"}, {float64Codec, "c202a05f20000000", "-10000000000.0"},
		{charCodec, "0061", `"a"`}, {charCodec, "d83d", `"\ud83d"`}, {charCodec, "0000", `"\u0000"`}, {charCodec, "0022", `"\""`},
		{stringCodec, "00", "null"}, {stringCodec, "01", `""`}, {stringCodec, "03 61 62", `"ab"`},
		{stringValueCodec, "00", `""`}, {stringValueCodec, "03 61 e901 62", `"aéb"`}, {flinkValue{int64Codec}, "0000000000000007", "7"},
		{stringCodec, "03 bdb003 80bc03", `"😀"`}, {stringCodec, "02 bdb003", `"\ud83d"`}, {stringCodec, "03 80bc03 bdb003", `"\ude00\ud83d"`},
		{stringCodec, "09 22 5c 0a 09 0d 01 3c e901", `"\"\\\n\t\r\u0001<é"`},
		{dateCodec, "0000000000000000", `"1970-01-01T00:00:00Z"`}, {dateCodec, "ffffffffffffffff", `"1969-12-31T23:59:59.999Z"`}, {dateCodec, "8000000000000000", "null"},
		{timestampCodec, "000000000000007b 075bcd15", `"1970-01-01T00:00:00.123456789Z"`}, {timestampCodec, "8000000000000000 00000000", "null"},
		{instantCodec, "ffffffffffffffff 3b9ac9ff", `"1969-12-31T23:59:59.999999999Z"`}, {instantCodec, "8000000000000000 80000000", "null"},
		{localDateCodec, "000007e8 02 1d", `"2024-02-29"`}, {localDateCodec, "80000000 8000", "null"}, {localDateCodec, "00002710 01 01", `"+10000-01-01"`}, {localDateCodec, "ffffffff 0c 1f", `"-0001-12-31"`},
		{localTimeCodec, "17 3b 3b 3b9ac9ff", `"23:59:59.999999999"`}, {localTimeCodec, "80 8000 80000000", "null"},
		{localDateTimeCodec, "000007e8 02 1d 01 02 03 003d0900", `"2024-02-29T01:02:03.004"`},
		{bigIntCodec, "00000000", "null"}, {bigIntCodec, "00000001", `"0"`}, {bigIntCodec, "00000003", `"10"`}, {bigIntCodec, "00000005 ff", `"-1"`},
		{bigIntCodec, "0000000d 80 0000000000000000", `"-2361183241434822606848"`},
		{bigDecCodec, "00000000", "null"}, {bigDecCodec, "00000006 04d2 00000002", `"12.34"`}, {bigDecCodec, "00000001 00000002", `"0.00"`}, {bigDecCodec, "00000002 00000007", `"1E-7"`},
		{bigDecCodec, "00000006 04d2 fffffffd", `"1.234E+6"`}, {bigDecCodec, "00000005 ff 00000006", `"-0.000001"`}, {bigDecCodec, "00000003 7fffffff", `"1.0E-2147483646"`},
		{bytesCodec, "00000002 ff00", `"/wA="`}, {primitiveArray(int16Codec), "00000002 0001 ffff", "[1,-1]"}, {primitiveArray(charCodec), "00000001 0068", `["h"]`},
		{newList([]Codec{stringCodec}), "00000002 00 02 61", `[null,"a"]`}, {newSequence(List, int32Codec, presentFlag), "00000002 00 01 00000007", "[null,7]"},
		{newSet([]Codec{int32Codec}), "00000003 00 00000009 01 00 00000008", "[8,9,null]"},
		{newMap([]Codec{stringCodec, int32Codec}), "00000002 02 62 00 00000001 02 61 01", `{"a":null,"b":1}`}, {newMap([]Codec{int32Codec, int32Codec}), "00000000", "{}"},
		{newMap([]Codec{int32Codec, int32Codec}), "00000002 00000009 00 00000001 00000008 01", "[[8,null],[9,1]]"}, {newMap([]Codec{stringCodec, int8Codec}), "00000001 00 00 07", "[[null,7]]"},
		{newMap([]Codec{stringCodec, int8Codec}), "00000002 02 61 00 07 02 61 00 08", `{"a":8}`},
		{pair, "02 61 ffffffffffffffff", `["a",-1]`}, {tuple0Codec, "2a", "[]"},
		{newRow([]Codec{int32Codec, stringCodec}, true), "10 00000001", "[1,null]"}, {newRow([]Codec{int32Codec, stringCodec}, false), "80 02 78", `[null,"x"]`},
		{newEither([]Codec{stringCodec, int32Codec}), "01 02 6c", `{"left":"l"}`}, {newEither([]Codec{stringCodec, int32Codec}), "00 0000002a", `{"right":42}`},
		{&nullableCodec{inner: int32Codec, padding: 4}, "01 00000000", "null"}, {&nullableCodec{inner: int32Codec, padding: 4}, "00 00000005", "5"}, {&nullableCodec{inner: stringCodec}, "01", "null"},
		{color, "00000001", `"GREEN"`},
		{timeWindowCodec, "0000000000000001 0000000000000002", `{"start":1,"end":2}`}, {globalWindowCodec, "00", `"GlobalWindow"`}, {voidCodec, "00", "null"},
		{variantCodec, "00000001 00000002 aa bbcc", `{"$raw":"AAAAAQAAAAKqu8w=","$type":"org.apache.flink.types.variant.Variant","$why":"a VARIANT"}`},
		{newTuple([]Codec{int8Codec, bitmapCodec, int8Codec}), "01 00000001 ff 02", `[1,{"$raw":"AAAAAf8=","$type":"org.apache.flink.types.bitmap.Bitmap","$why":"a BITMAP"},2]`},
		{javaCodec, "aced0005 70", `{"$raw":"rO0ABXA=","$type":"java.io.Serializable","$why":"an object in Java serialization"}`},
		{newOption([]Codec{int8Codec}), "01 07", "7"}, {newOption([]Codec{int8Codec}), "00", "null"}, {nullValueCodec, "", "null"},
		{newSides([]Codec{int32Codec, stringCodec}), "01 00000007", `{"left":7}`}, {newSides([]Codec{int32Codec, stringCodec}), "02 02 61", `{"right":"a"}`},
		{sortedLongCodec, "8000000000000005", "5"}, {newNodeID([]Codec{eventIDCodec}), "00", "null"},
		{newNodeID([]Codec{eventIDCodec}), "01 00000001 0000000000000002 02 61", `[[1,2],"a"]`},
		{newNode([]Codec{eventIDCodec}), "00000001 00000007 00000001 0000000000000002", `[[7,[1,2]]]`},
		{newJoined([]Codec{stringCodec}), "01 02 61", `{"joined":true,"record":"a"}`},
		{newTTL([]Codec{int64Codec, stringCodec}), "0000000000000009 02 61", `"a"`},
		{point, "01", "null"}, {point, "02 00 00000001 00 02 61", `{"$class":"Point","label":"a","x":1}`}, {point, "02 01 01", `{"$class":"Point","label":null,"x":null}`},
		{point, "08 00 02 00 3ff0000000000000", `{"$class":"Point3","z":1.0}`}, {point, "04 0003 4f6464 0000000000000005", `{"$class":"Odd","$value":5}`},
	} {
		if got, err := decode(t, c.codec, unhex(t, c.hex)); err != nil || got != c.out {
			t.Errorf("%s of %s: %s, %v; want %s", c.codec.Type(), c.hex, got, err, c.out)
		}
	}
}

func TestCodecsRefuse(t *testing.T) {
	color := &enumCodec{typ: Type{Kind: Enum, Class: "Color"}}
	for _, c := range []struct {
		codec Codec
		hex   string
		want  error
		text  string
	}{
		{int32Codec, "000000", fault.ErrTruncated, "4 bytes wanted, 3 left"},
		{newSides([]Codec{int32Codec, stringCodec}), "03 02 61", fault.ErrCorrupt, "side 3 of a join"},
		{stringValueCodec, "05 61", fault.ErrTruncated, "5 bytes wanted, 1 left"},
		{stringValueCodec, "ffffffffffff7f", fault.ErrCorrupt, "string of"},
		{stringCodec, "05 61", fault.ErrTruncated, "4 bytes wanted, 1 left"},
		{stringCodec, "ffffffffffff7f", fault.ErrCorrupt, "string of"},
		{stringCodec, "02 ffffff7f", fault.ErrCorrupt, "malformed character"},
		{localDateCodec, "000007e7 02 1d", fault.ErrCorrupt, "no such date: 2023-2-29"},
		{localTimeCodec, "18 00 00 00000000", fault.ErrCorrupt, "no such time: 24:0:0"},
		{instantCodec, "0000000000000000 3b9aca00", fault.ErrCorrupt, "1000000000 nanoseconds"},
		{bigIntCodec, "00000004", fault.ErrCorrupt, "without bytes"},
		{newList([]Codec{stringCodec}), "7fffffff", fault.ErrTruncated, "2147483647 bytes wanted"},
		{newList([]Codec{newRow(nil, false)}), "7fffffff", fault.ErrCorrupt, "empty items"},
		{newMap([]Codec{stringCodec, stringCodec}), "ffffffff", fault.ErrCorrupt, "negative count -1"},
		{color, "00000000", fault.ErrCorrupt, "constant 0 of Color, which has 0"},
		{point, "08 07", fault.ErrCorrupt, "registered subclass 7 of Point, which has 1"},
		{point, "04 0001 41", fault.ErrUnsupported, "class A, a subclass of Point that is not in the snapshot"},
		{newRaw("Custom", "no layout"), "00", fault.ErrUnsupported, "Custom: no layout"},
	} {
		_, err := decode(t, c.codec, unhex(t, c.hex))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s of %s: %v; want %v with %q", c.codec.Type(), c.hex, err, c.want, c.text)
		}
	}
}
