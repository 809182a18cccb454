package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func avroOf(t testing.TB, schema string) Codec {
	t.Helper()
	c, err := parseAvro([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	avroEvent = `{"type":"record","name":"Event","namespace":"n","fields":[
		{"name":"z","type":"long"},{"name":"a","type":["null","string"]},{"name":"u","type":["int","string",{"type":"record","name":"In","fields":[{"name":"x","type":"double"}]}]},
		{"name":"l","type":{"type":"array","items":"In"}},{"name":"m","type":{"type":"map","values":"int"}},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"f","type":{"type":"fixed","name":"F","size":2}},{"name":"b","type":{"type":"bytes","logicalType":"decimal"}}]}`
	avroTree = `{"type":"record","name":"Tree","fields":[{"name":"v","type":"int"},{"name":"kids","type":{"type":"array","items":"Tree"}}]}`
)

func TestAvro(t *testing.T) {
	for _, c := range []struct{ schema, hex, out string }{
		{`"null"`, "", "null"}, {`"boolean"`, "01", "true"}, {`"int"`, "ffffffff", "-1"}, {`"float"`, "3fc00000", "1.5"}, {`{"type":"long","logicalType":"timestamp-millis"}`, "0000000000000007", "7"},
		{`"string"`, "00000003 c3bc22", `"ü\""`}, {`"bytes"`, "00000001 ff", `"/w=="`}, {`{"type":"array","items":"null"}`, "03 00", "[null,null,null]"},
		{`{"type":"array","items":"boolean"}`, "01 01 02 00 01 00", "[true,false,true]"}, // two blocks
		{`{"type":"map","values":"boolean"}`, "02 00000001 62 01 00000001 61 00 00", `{"a":false,"b":true}`}, {`{"type":"map","values":"boolean"}`, "00", "{}"},
		{avroEvent, "0000000000000001 00000001 00000001 78 00000002 3ff0000000000000 01 4000000000000000 00 01 00000001 6b 00000005 00 00000001 0102 00000000",
			`{"a":"x","b":"","e":"B","f":"AQI=","l":[{"x":2.0}],"m":{"k":5},"u":{"x":1.0},"z":1}`},
		{avroTree, "00000001 02 00000002 00 00000003 01 00000004 00 00 00", `{"kids":[{"kids":[],"v":2},{"kids":[{"kids":[],"v":4}],"v":3}],"v":1}`},
	} {
		if got, err := decode(t, avroOf(t, c.schema), unhex(t, c.hex)); err != nil || got != c.out {
			t.Errorf("%s of %s: %s, %v; want %s", c.schema, c.hex, got, err, c.out)
		}
	}
}

func TestAvroTypes(t *testing.T) {
	if got := avroOf(t, avroEvent).Type().String(); got != "n.Event(z int64, a string, u any union, l list<n.In(x float64)>, m map<string,int32>, e enum n.E, f bytes, b bytes)" {
		t.Error(got)
	}
	if got := avroOf(t, avroTree).Type().String(); got != "Tree(v int32, kids list<any Tree>)" {
		t.Error(got)
	}
}

func TestAvroRefuses(t *testing.T) {
	for _, c := range []struct {
		schema, hex string
		want        error
		text        string
	}{
		{`["null","int"]`, "00000002", fault.ErrCorrupt, "branch 2 of a union of 2"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "00000001", fault.ErrCorrupt, "constant 1 of E, which has 1"},
		{`{"type":"array","items":"int"}`, "ffffffff07", fault.ErrCorrupt, "count 2147483647 does not fit 0 bytes"},
		{`{"type":"array","items":"null"}`, "ffffffff07", fault.ErrUnsupported, "2147483647 empty elements"},
		{avroTree, strings.Repeat("00000001 01", 2000), fault.ErrCorrupt, "nest deeper than 1000"},
	} {
		_, err := decode(t, avroOf(t, c.schema), unhex(t, c.hex))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s of %.40s: %v; want %v with %q", c.schema, c.hex, err, c.want, c.text)
		}
	}
	for schema, want := range map[string]string{
		`{"type":"array"`:                 "neither a name",
		`"Missing"`:                       `type "Missing" is not defined`,
		`{"type":"fixed","size":-1}`:      "size -1",
		strings.Repeat(`{"type":`, 100):   "neither a name",
		`{"type":"array","items":"Nope"}`: `type "Nope" is not defined`,
		strings.Repeat("[", 70) + `"int"` + strings.Repeat("]", 70): "nest deeper than 64",
	} {
		if _, err := parseAvro([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v; want %q", schema, err, want)
		}
	}
}

func FuzzAvro(f *testing.F) {
	f.Add(avroEvent, unhex(f, "0000000000000001 00000001 00000001 78 00000002 3ff0000000000000 01 4000000000000000 00 01 00000001 6b 00000005 00 00000001 0102 00000000"))
	f.Add(avroTree, unhex(f, "00000001 02 00000002 00 00000003 01 00000004 00 00 00"))
	f.Fuzz(func(t *testing.T, schema string, b []byte) {
		c, err := parseAvro([]byte(schema))
		if err != nil {
			return
		}
		_ = c.Type().String()
		text, err := decode(t, c, b)
		checkFault(t, err)
		if err == nil {
			checkJSON(t, []byte(text))
		}
	})
}
