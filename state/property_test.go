package state

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/statebridge/statebridge/state/javaio"
)

// TestStringsRoundTrip: any UTF-16 text, surrogates in any order, comes back from its JSON; and encoding/json reads the same.
func TestStringsRoundTrip(t *testing.T) {
	unit := rapid.OneOf(rapid.Uint16(), rapid.Uint16Range(0, 0x7F), rapid.Uint16Range(0xD800, 0xDFFF))
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOf(unit).Draw(t, "units")
		b := binary.AppendUvarint(nil, uint64(len(units))+1)
		for _, u := range units {
			b = binary.AppendUvarint(b, uint64(u))
		}
		r := javaio.NewReader("test", 0, b)
		text := stringCodec.AppendJSON(nil, r)
		if r.End(); r.Err() != nil {
			t.Fatal(r.Err())
		}
		back, err := stringCodec.AppendKey(nil, text)
		if err != nil || string(back) != string(b) {
			t.Fatalf("%s: %x, %v; want %x", text, back, err, b)
		}
		var std string
		if err := json.Unmarshal(text, &std); err != nil || std != string(utf16.Decode(units)) {
			t.Fatalf("%s: encoding/json reads %q, %v", text, std, err)
		}
	})
}

// keyCodecs are codecs whose values can be written.
var keyCodecs = map[string]Codec{
	"bool": boolCodec, "int8": int8Codec, "int16": int16Codec, "int32": int32Codec, "int64": int64Codec, "float32": float32Codec, "float64": float64Codec,
	"char": charCodec, "string": stringCodec, "decimal": bigDecCodec, "bigint": bigIntCodec,
	"pair":   newTuple([]Codec{stringCodec, int64Codec}),
	"fixed":  newTuple([]Codec{int32Codec, int64Codec}),
	"row":    newRow([]Codec{int32Codec, stringCodec, float64Codec}, true),
	"list":   newList([]Codec{stringCodec}),
	"window": timeWindowCodec,
}

// drawJSON draws a value that the codec can write.
func drawJSON(t *rapid.T, typ *Type) string {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	switch typ.Kind {
	case Bool:
		return text(rapid.Bool().Draw(t, "bool"))
	case Int8:
		return text(rapid.Int8().Draw(t, "int8"))
	case Int16:
		return text(rapid.Int16().Draw(t, "int16"))
	case Int32:
		return text(rapid.Int32().Draw(t, "int32"))
	case Int64:
		return text(rapid.Int64().Draw(t, "int64"))
	case Float32:
		return string(appendFloat(nil, float64(rapid.Float32().Draw(t, "float32")), 32))
	case Float64:
		return string(appendFloat(nil, rapid.Float64().Draw(t, "float64"), 64))
	case Char:
		return string(appendChar(nil, rapid.Uint16().Draw(t, "char")))
	case String:
		return string(appendQuoted(nil, rapid.String().Draw(t, "string")))
	case BigInt:
		return `"` + rapid.StringMatching(`0|-?[1-9][0-9]{0,40}`).Draw(t, "bigint") + `"`
	case Decimal:
		return `"` + rapid.StringMatching(`0\.00|-?[1-9][0-9]{0,20}(\.[0-9]{1,20})?`).Draw(t, "decimal") + `"`
	case Window:
		return string(appendWindow(nil, javaio.NewReader("", 0, rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "window"))))
	case List:
		elems := make([]string, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range elems {
			elems[i] = drawJSON(t, typ.Elem)
		}
		return "[" + strings.Join(elems, ",") + "]"
	case Tuple:
		elems := make([]string, len(typ.Fields))
		for i, f := range typ.Fields {
			elems[i] = drawJSON(t, f.Type)
		}
		return "[" + strings.Join(elems, ",") + "]"
	}
	t.Fatalf("no values of type %s", typ)
	return ""
}

// TestCompositeKeysRoundTrip: what EncodeKey and AppendKey write, DecodeKey reads, for any types of key, namespace and user key.
func TestCompositeKeysRoundTrip(t *testing.T) {
	names := rapid.SampledFrom([]string{"bool", "int8", "int16", "int32", "int64", "float32", "float64", "char", "string", "decimal", "bigint", "pair", "fixed", "row", "list", "window"})
	rapid.Check(t, func(t *rapid.T) {
		s := &Schema{Name: "s", Kind: KindMap, MaxParallelism: rapid.SampledFrom([]int{1, 128, 129, 32768}).Draw(t, "max parallelism")}
		s.Key, s.Namespace, s.MapKey = keyCodecs[names.Draw(t, "key")], keyCodecs[names.Draw(t, "namespace")], keyCodecs[names.Draw(t, "map key")]
		key, namespace, mapKey := drawJSON(t, s.Key.Type()), drawJSON(t, s.Namespace.Type()), drawJSON(t, s.MapKey.Type())
		group, ok := s.KeyGroup([]byte(key))
		if !ok && s.Key.Type().Kind != Tuple && s.Key.Type().Kind != Window {
			t.Fatalf("no key group for %s", key)
		}
		k, n, m, err := s.EncodeKey([]byte(key), []byte(namespace), []byte(mapKey))
		if err != nil {
			t.Fatal(err)
		}
		var row Row
		if err := s.DecodeKey(&row, s.AppendKey(nil, group, k, n, m)); err != nil {
			t.Fatal(err)
		}
		if row.KeyGroup != group || string(row.Key) != key || string(row.Namespace) != namespace || string(row.MapKey) != mapKey {
			t.Fatalf("%d %s %s %s; want %d %s %s %s", row.KeyGroup, row.Key, row.Namespace, row.MapKey, group, key, namespace, mapKey)
		}
	})
}
