package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

func flussSchema(t interface{ Fatal(...any) }, file []byte, partition string) *Schema {
	table, err := ParseFlussTable("schema.json", file)
	if err != nil {
		t.Fatal(err, string(file))
	}
	s, err := table.Schema("db.t", partition, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFlussRowsComeBack: a row of any types, written as Fluss writes it, is read as what it was, and a cut or longer one is not.
func TestFlussRowsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := flussType{name: "ROW", parts: []flussType{{name: "BIGINT"}}, fields: []string{"id"}}
		for i := range rapid.IntRange(0, 12).Draw(t, "columns") {
			table.parts = append(table.parts, drawFlussType(t, 3))
			table.fields = append(table.fields, fmt.Sprintf("c%d", i))
		}
		values := table.draw(t, false).([]any)
		values[0] = int64(7)
		form := rapid.SampledFrom([]rowForm{compactedRow, indexedRow}).Draw(t, "form")
		name := map[rowForm]string{compactedRow: "compacted", indexedRow: "INDEXED"}[form]
		s := flussSchema(t, schemaFile(table, map[string]any{"primary_key": []string{"id"}, "kv_format": name}), "")
		stored := append([]byte{1, 0}, table.row(values, form)...)
		var row Row
		if err := s.DecodeValue(&row, stored); err != nil {
			t.Fatal(err)
		}
		if want := table.json(values); string(row.Value) != want {
			t.Fatalf("%s\n got %s\nwant %s", table, row.Value, want)
		}
		checkJSONOf(t, row.Value)
		if err := s.DecodeValue(&row, append(bytes.Clone(stored), 0)); !errors.Is(err, fault.ErrCorrupt) {
			t.Fatalf("a byte more: %v", err)
		}
		if err := s.DecodeValue(&row, stored[:len(stored)-1]); !errors.Is(err, fault.ErrCorrupt) {
			t.Fatalf("%s: a byte less: %s, %v", table, row.Value, err)
		}
	})
}

func checkJSONOf(t *rapid.T, text []byte) {
	if end, err := jsonscan.ValueEnd(text, 0); err != nil || end != len(text) {
		t.Fatalf("not JSON: %s", text)
	}
}

// keyTypes are those that a key can have in each form.
func keyTypes(lake string) []string {
	if lake == "iceberg" {
		return []string{"INT", "BIGINT", "FLOAT", "DOUBLE", "CHAR", "STRING", "BINARY", "BYTES", "DECIMAL", "DATE", "TIME", "TIMESTAMP"}
	}
	return flussScalars
}

// TestFlussKeysComeBack: a key in any form is read as what it was, and its JSON gives the same bytes again.
func TestFlussKeysComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lake := rapid.SampledFrom([]string{"", "paimon", "iceberg", "lance", "hudi"}).Draw(t, "lake")
		n := 1
		if lake != "iceberg" {
			n = rapid.IntRange(1, 5).Draw(t, "columns")
		}
		key := flussType{name: "ROW"}
		for i := range n {
			f := drawFlussType(t, 0)
			for !slices.Contains(keyTypes(lake), f.name) {
				f = drawFlussType(t, 0)
			}
			if f.name == "DATE" || f.name == "TIMESTAMP" || f.name == "TIMESTAMP_LTZ" {
				f.n = min(f.n, 6) // Iceberg keeps microseconds
			}
			key.parts, key.fields = append(key.parts, f), append(key.fields, fmt.Sprintf("k%d", i))
		}
		values := make([]any, n)
		var parts []string
		for i, f := range key.parts {
			values[i] = f.draw(t, false)
			switch f.name { // years of four digits, whole microseconds
			case "DATE":
				values[i] = values[i].(int64) / 100
			case "TIMESTAMP", "TIMESTAMP_LTZ":
				m := values[i].(moment)
				values[i] = moment{m.ms % 60000000000, m.nanos / 1000 * 1000}
			}
			parts = append(parts, f.json(values[i]))
		}
		s := flussSchema(t, schemaFile(key, map[string]any{"primary_key": key.fields, "lake_format": lake, "kv_format_version": 2}), "")
		stored := keyBytes(key, values, lake)
		var row Row
		if err := s.DecodeKey(&row, stored); err != nil {
			t.Fatalf("%s %x: %v", key, stored, err)
		}
		want := "[" + strings.Join(parts, ",") + "]"
		if string(row.Key) != want {
			t.Fatalf("%s: %s, want %s", key, row.Key, want)
		}
		again, err := s.Key.(KeyCodec).AppendKey(nil, row.Key)
		if err != nil || !bytes.Equal(again, stored) {
			t.Fatalf("%s %s: %x, %v, want %x", key, want, again, err, stored)
		}
	})
}

func keyBytes(key flussType, values []any, lake string) []byte {
	switch lake {
	case "paimon":
		return paimonBytes(key, values)
	case "iceberg":
		f, v := key.parts[0], values[0]
		switch f.name {
		case "INT", "DATE":
			return binary.LittleEndian.AppendUint64(nil, uint64(v.(int64)))
		case "TIME":
			return binary.LittleEndian.AppendUint64(nil, uint64(v.(int64)*1000))
		case "TIMESTAMP":
			return binary.LittleEndian.AppendUint64(nil, uint64(v.(moment).ms*1000+v.(moment).nanos/1000))
		case "DECIMAL":
			return javaBytes(v.(*big.Int))
		}
		return f.plain(v, compactedRow)
	}
	var b []byte
	for i, f := range key.parts {
		b = append(b, f.compacted(values[i])...)
	}
	return b
}

// paimonBytes writes a Paimon row, whose slots are those of an array with elements of eight bytes.
func paimonBytes(key flussType, values []any) []byte {
	le := binary.LittleEndian
	head := (len(values) + 63 + 8) / 64 * 8
	b := make([]byte, head+8*len(values))
	for i, f := range key.parts {
		at, plain := head+8*i, f.plain(values[i], compactedRow)
		switch {
		case (f.name == "TIMESTAMP" || f.name == "TIMESTAMP_LTZ") && f.n > 3:
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(values[i].(moment).nanos))
			b = append(b, plain[:8]...)
		case f.name == "DECIMAL" && f.n > 18:
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(len(plain)))
			b = append(append(b, plain...), make([]byte, 16-len(plain))...)
		case !slices.Contains([]string{"CHAR", "STRING", "BINARY", "BYTES"}, f.name):
			copy(b[at:], plain)
		case len(plain) <= 7:
			copy(b[at:], plain)
			b[at+7] = 0x80 | byte(len(plain))
		default:
			le.PutUint64(b[at:], uint64(len(b))<<32|uint64(len(plain)))
			b = append(append(b, plain...), make([]byte, (8-len(plain)%8)%8)...)
		}
	}
	return b
}

// TestFlussBytes are rows and keys written by hand.
func TestFlussBytes(t *testing.T) {
	for _, c := range []struct {
		columns, format, hex, out string
	}{
		{"INT", "compacted", "00 ffffffff0f", `{"id":-1}`},
		{"BIGINT", "compacted", "00 ffffffffffffffffff01", `{"id":-1}`},
		{"TIMESTAMP(6)", "compacted", "00 07 e807", `{"id":"1970-01-01T00:00:00.007001"}`},
		{"TIMESTAMP_LTZ(3)", "compacted", "00 07", `{"id":"1970-01-01T00:00:00.007Z"}`},
		{"CHAR(4)", "compacted", "00 02 6162", `{"id":"ab"}`},
		{"CHAR(4)", "indexed", "00 61620000", `{"id":"ab"}`},
		{"BINARY(3)", "indexed", "00 010200", `{"id":"AQIA"}`},
		{"STRING", "indexed", "01 00000000", `{"id":null}`},
		{"STRING", "indexed", "00 02000000 6162", `{"id":"ab"}`},
		{"DECIMAL(10, 2)", "compacted", "00 ffffffffffffffffff01", `{"id":"-0.01"}`},
		{"DECIMAL(20, 2)", "compacted", "00 01 ff", `{"id":"-0.01"}`},
		{"ARRAY<INT>", "compacted", "00 10 02000000 02000000 07000000 00000000", `{"id":[7,null]}`},
		{"MAP<STRING, INT>", "compacted", "00 24 10000000 01000000 00000000 6b00000000000081 01000000 00000000 05000000 00000000", `{"id":{"k":5}}`},
		{"ROW<a INT, b STRING 'it''s'>", "compacted", "00 03 02 07", ""},
		{"ROW<a INT, b STRING 'it''s'>", "compacted", "00 02 02 07", `{"id":{"a":7,"b":null}}`},
		{"ROW<a INT, b STRING>", "indexed", "00 0b000000 00 02000000 07000000 6869", `{"id":{"a":7,"b":"hi"}}`},
	} {
		// the key is another column, as it may be null
		file := fmt.Sprintf(`{"schemas": {"1": [{"name": "id", "type": %q}, {"name": "k", "type": "TINYINT"}]}, "primary_key": ["k"], "kv_format": %q}`, c.columns, c.format)
		s := flussSchema(t, []byte(file), "")
		var row Row
		err := s.DecodeValue(&row, append([]byte{1, 0}, append(unhex(t, squeeze(c.hex)), 9)...))
		want := strings.TrimSuffix(c.out, "}") + `,"k":9}`
		if c.out == "" {
			if !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("%s %s: %v", c.columns, c.hex, err)
			}
			continue
		}
		if err != nil || string(row.Value) != want {
			t.Errorf("%s %s: %s, %v, want %s", c.columns, c.hex, row.Value, err, want)
		}
	}
}

func TestPartitionValues(t *testing.T) {
	for _, c := range []struct{ columns, name, want string }{
		{"STRING", "p0", `"p0"`}, {"CHAR(2)", "eu", `"eu"`}, {"BOOLEAN", "true", "true"}, {"INT", "-7", "-7"}, {"BIGINT", "9007199254740993", "9007199254740993"},
		{"TINYINT", "300", ""}, {"INT", "+7", "7"}, {"INT", "x", ""}, {"BYTES", "01ff", `"Af8="`}, {"BINARY(1)", "0", ""},
		{"DATE", "2024-02-29", `"2024-02-29"`}, {"DATE", "2024-02-30", ""}, {"TIME(3)", "15-04-05_120", `"15:04:05.120"`}, {"TIME", "15-04-00_000", `"15:04"`},
		{"FLOAT", "1_5", "1.5"}, {"DOUBLE", "1_0E10", "10000000000.0"}, {"DOUBLE", "-Inf", `"-Infinity"`}, {"DOUBLE", "NaN", `"NaN"`},
		{"TIMESTAMP(6)", "2024-02-29-01-02-03_000004", `"2024-02-29T01:02:03.000004"`}, {"TIMESTAMP(3)", "2024-02-29-01-02-03_", `"2024-02-29T01:02:03"`},
		{"TIMESTAMP_LTZ(9)", "2024-02-29-01-02-03_000000004", `"2024-02-29T01:02:03.000000004Z"`}, {"DECIMAL(3, 1)", "1_5", ""},
	} {
		column, err := parseFlussType(c.columns, compactedRow)
		if err != nil {
			t.Fatal(err)
		}
		got, err := partitionValues(c.name, []*sqlType{column})
		if c.want == "" {
			if err == nil {
				t.Errorf("%s %s: %s", c.columns, c.name, got)
			}
			continue
		}
		if err != nil || string(got[0]) != c.want {
			t.Errorf("%s %s: %s, %v, want %s", c.columns, c.name, got, err, c.want)
		}
	}
	file := []byte(`{"schemas": {"1": [{"name": "id", "type": "INT"}, {"name": "day", "type": "DATE"}, {"name": "eu", "type": "STRING"}]},
		"primary_key": ["eu", "id", "day"], "partition_keys": ["day", "eu"], "lake_format": "paimon", "kv_format_version": 2}`)
	s := flussSchema(t, file, "2024-01-02$p")
	var row Row
	key := paimonBytes(flussType{parts: []flussType{{name: "INT"}}}, []any{int64(7)})
	if err := s.DecodeKey(&row, key); err != nil || string(row.Key) != `["p",7,"2024-01-02"]` {
		t.Errorf("%s, %v", row.Key, err)
	}
	if again, err := s.Key.(KeyCodec).AppendKey(nil, row.Key); err != nil || !bytes.Equal(again, key) {
		t.Errorf("%x, %v, want %x", again, err, key)
	}
	if _, err := s.Key.(KeyCodec).AppendKey(nil, []byte(`["q",7,"2024-01-02"]`)); err == nil || !strings.Contains(err.Error(), `eu: this is the partition of "p"`) {
		t.Error(err)
	}
	columns := DefaultColumns(s)
	var names []string
	for _, c := range columns {
		names = append(names, fmt.Sprintf("%s:%s:%v", c.Name, c.Path, c.Key))
	}
	if got := strings.Join(names, " "); got != "id:key.id:true day:key.day:true eu:key.eu:true" {
		t.Error(got)
	}
}

func TestFlussTableRefuses(t *testing.T) {
	const whole = `{"schemas": {"1": [{"name": "id", "type": "INT"}, {"name": "v", "type": "STRING"}]}, "primary_key": ["id"]}`
	if _, err := ParseFlussTable("f", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"no JSON":        {`{"schemas"`, `{schemas`, "invalid character"},
		"no schemas":     {`"schemas"`, `"other"`, "schemas is required"},
		"schema id":      {`"1"`, `"one"`, `"one" is no schema id`},
		"schema ids":     {`"1"`, `"01": [], "1"`, "stands twice"},
		"no key":         {`, "primary_key": ["id"]`, ``, "primary_key is required"},
		"other key":      {`["id"]`, `["id", "no"]`, `primary_key: no column "no" in schema 1`},
		"key twice":      {`["id"]`, `["id", "id"]`, `"id" stands twice`},
		"only partition": {`["id"]`, `["id"], "partition_keys": ["id"]`, "primary_key is required, with a column that is not one of partition_keys"},
		"partition":      {`["id"]`, `["id"], "partition_keys": ["v"]`, `partition_keys: "v" is not in primary_key`},
		"key of parts":   {`"INT"`, `"ARRAY<INT>"`, `"id" is ARRAY`},
		"format":         {`["id"]`, `["id"], "kv_format": "aligned"`, `kv_format "aligned"`},
		"version":        {`["id"]`, `["id"], "kv_format_version": 3`, "kv_format_version 3"},
		"lake":           {`["id"]`, `["id"], "lake_format": "delta"`, `lake_format "delta"`},
		"iceberg keys":   {`["id"]`, `["id", "v"], "lake_format": "iceberg"`, "one key column"},
		"iceberg type":   {`"INT"`, `"TINYINT"}], "2": []}, "lake_format": "iceberg", "schemas": {"1": [{"name": "id", "type": "BOOLEAN"`, "for Iceberg"},
		"same name":      {`"v"`, `"id"`, `the name "id"`},
		"reordered":      {`]}`, `], "2": [{"name": "v", "type": "STRING"}, {"name": "id", "type": "INT"}]}`, `schema 2 does not go on from schema 1: column 1 is not "id" any more`},
		"dropped":        {`]}`, `], "2": [{"name": "id", "type": "INT"}]}`, `column 2 is not "v" any more`},
		"other type":     {`]}`, `], "2": [{"name": "id", "type": "INT"}, {"name": "v", "type": "CHAR(3)"}]}`, `column "v" has another type`},
		"key added":      {`]}, "primary_key": ["id"]`, `], "2": [{"name": "id", "type": "INT"}, {"name": "v", "type": "STRING"}, {"name": "w", "type": "INT"}]}, "primary_key": ["w"]`, `no column "w" in schema 1`},
		"type":           {`"STRING"`, `"STRINGS"`, `schema 1, column "v": type "STRINGS"`},
		"decimal":        {`"STRING"`, `"DECIMAL(39, 1)"`, "up to 38 digits"},
		"scale":          {`"STRING"`, `"DECIMAL(3, 4)"`, "up to 38 digits"},
		"char":           {`"STRING"`, `"CHAR(0)"`, "a length above 0"},
		"timestamp":      {`"STRING"`, `"TIMESTAMP(10)"`, "more than 9 digits"},
		"numbers":        {`"STRING"`, `"INT(3)"`, "no more than 0 numbers"},
		"open":           {`"STRING"`, `"ARRAY<INT"`, `">" is expected`},
		"row":            {`"STRING"`, `"ROW<INT>"`, `before ">"`},
		"more":           {`"STRING"`, `"INT NOT NULL NOT NULL"`, "the type has ended"},
		"deep":           {`"STRING"`, `"` + strings.Repeat("ARRAY<", 100) + `INT"`, "nest deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(whole, c.old, c.new, 1)
			if text == whole {
				t.Fatal("nothing was replaced")
			}
			if _, err := ParseFlussTable("dir/f.json", []byte(text)); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "schema file dir/f.json: ") {
				t.Error(err)
			}
		})
	}
}

func TestFlussTypes(t *testing.T) {
	for text, want := range map[string]string{
		"int": "int32", "INTEGER NULL": "int32", "VARCHAR(2147483647)": "string", "varbinary(9)": "bytes", "TIMESTAMP(3) WITH LOCAL TIME ZONE": "instant", "TIMESTAMP_LTZ(3) NOT NULL": "instant",
		"TIMESTAMP WITHOUT TIME ZONE NOT NULL": "datetime", "time without time zone": "time", "NUMERIC": "decimal", " MAP < STRING NOT NULL , ARRAY<BIGINT NOT NULL> > ": "map<string,list<int64>>",
		"ROW<`a b` INT NOT NULL 'with, comment', `c``d` ROW(e STRING)>": "row(a b int32, c`d row(e string))", "ROW<>": "row()",
	} {
		if got, err := parseFlussType(text, compactedRow); err != nil || got.typ.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzFlussType(f *testing.F) {
	f.Add("ROW<`a``b` DECIMAL(10, 2) NOT NULL 'c''d', e MAP<STRING, ARRAY<TIMESTAMP(3) WITH LOCAL TIME ZONE>>>")
	f.Fuzz(func(t *testing.T, text string) {
		if typ, err := parseFlussType(text, indexedRow); err == nil {
			_ = typ.typ.String()
		}
	})
}

func FuzzFlussTable(f *testing.F) {
	f.Add([]byte(`{"schemas": {"1": [{"name": "id", "type": "INT"}], "2": [{"name": "id", "type": "INT"}, {"name": "v", "type": "STRING"}]}, "primary_key": ["id"], "partition_keys": ["id"], "lake_format": "paimon"}`), "7")
	f.Fuzz(func(t *testing.T, file []byte, partition string) {
		table, err := ParseFlussTable("fuzz", file)
		if err != nil {
			return
		}
		for _, id := range table.SchemaIDs() {
			if s, err := table.Schema("t", partition, id); err == nil {
				DefaultColumns(s)
			}
		}
	})
}

// everyFlussTables have a column of each type, in each form of rows and keys.
func everyFlussTables(t interface{ Fatal(...any) }) []*Schema {
	var columns []string
	var key []string
	for i, name := range append([]string{"ARRAY<STRING>", "ARRAY<ROW<a TIMESTAMP(9), b ARRAY<TINYINT>>>", "MAP<STRING, DECIMAL(30, 3)>", "MAP<INT, ROW<x CHAR(3), y MAP<BIGINT, BYTES>>>", "ROW<p INT, q ROW<r DOUBLE>>"}, flussScalars...) {
		columns = append(columns, fmt.Sprintf(`{"name": "c%d", "type": %q}`, i, name))
		if i > 4 {
			key = append(key, fmt.Sprintf(`"c%d"`, i))
		}
	}
	var schemas []*Schema
	for _, more := range []string{
		`"kv_format": "compacted", "primary_key": [` + strings.Join(key, ",") + `]`, `"kv_format": "indexed", "lake_format": "paimon", "primary_key": [` + strings.Join(key, ",") + `]`,
		`"lake_format": "iceberg", "primary_key": ["c8"]`, `"lake_format": "iceberg", "primary_key": ["c13"]`, `"lake_format": "iceberg", "primary_key": ["c16"]`, `"lake_format": "iceberg", "primary_key": ["c18"]`,
		`"lake_format": "iceberg", "primary_key": ["c19"]`,
	} {
		schemas = append(schemas, flussSchema(t, []byte(`{"schemas": {"1": [`+strings.Join(columns, ",")+`]}, `+more+`}`), ""))
	}
	return schemas
}

// FuzzFlussRows reads arbitrary keys and rows in every form: no panic, no more JSON than the bytes can hold, and a key that can be written again gives the same.
func FuzzFlussRows(f *testing.F) {
	schemas := everyFlussTables(f)
	f.Add(0, []byte{1, 2, 3, 0}, []byte{1, 0, 0, 0, 0, 4, 0, 0, 0, 0})
	f.Add(1, make([]byte, 8+8*16), append([]byte{1, 0}, make([]byte, 200)...))
	f.Add(2, make([]byte, 8), []byte{1, 0, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, i int, key, value []byte) {
		s := schemas[uint(i)%uint(len(schemas))]
		var row Row
		err := s.DecodeKey(&row, key)
		checkFault(t, err)
		if err == nil {
			checkJSON(t, row.Key)
			if again, err := s.Key.(KeyCodec).AppendKey(nil, row.Key); err == nil {
				r := javaio.NewReader("fuzz", 0, again)
				if got := s.Key.AppendJSON(nil, r); r.Err() != nil || !bytes.Equal(got, row.Key) {
					t.Fatalf("%s written again gives %s, %v", row.Key, got, r.Err())
				}
			}
		}
		err = s.DecodeValue(&row, value)
		checkFault(t, err)
		if err == nil {
			checkJSON(t, row.Value)
			if len(row.Value) > 2000+200*len(value) {
				t.Fatalf("%d bytes of JSON from %d", len(row.Value), len(value))
			}
		}
	})
}
