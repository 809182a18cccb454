package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
)

func TestDecodeKey(t *testing.T) {
	long := strings.Repeat("6b", 300)
	for name, c := range map[string]struct {
		s    Schema
		hex  string
		want string // key group, key, namespace, map key, value
	}{
		"fixed":       {Schema{Kind: KindValue, Key: int64Codec, Namespace: voidNamespaceCodec, MaxParallelism: 128}, "7f 0000000000000001 00", "127 1"},
		"two bytes":   {Schema{Kind: KindValue, Key: int64Codec, Namespace: voidNamespaceCodec, MaxParallelism: 129}, "0080 0000000000000001 00", "128 1"},
		"void":        {Schema{Kind: KindValue, Key: stringCodec, Namespace: voidNamespaceCodec, MaxParallelism: 128}, "01 02 61 00", `1 "a"`},
		"ambiguous":   {Schema{Kind: KindMap, Key: stringCodec, Namespace: stringCodec, MapKey: stringCodec, MaxParallelism: 128}, "01 02 61 02 03 62 63 03 02 64", `1 "a" "bc" "d"`},
		"long suffix": {Schema{Kind: KindValue, Key: stringCodec, Namespace: stringCodec, MaxParallelism: 128}, "01 ad02" + long + "2e01 01 01", `1 "` + strings.Repeat("k", 300) + `" ""`},
		"window":      {Schema{Kind: KindList, Key: stringCodec, Namespace: timeWindowCodec, MaxParallelism: 128}, "01 02 61 0000000000000001 0000000000000002", `1 "a" {"start":1,"end":2}`},
		"timer":       {Schema{Kind: KindTimer, Key: stringCodec, Namespace: voidNamespaceCodec, MaxParallelism: 128}, "01 7fffffffffffffff 02 61 00", `1 "a" -1`},
		"broadcast":   {Schema{Kind: KindBroadcast, MapKey: int32Codec}, "00000007", "0 7"},
		"raw key": {Schema{Kind: KindMap, Key: newRaw("Own", "unknown"), Namespace: voidNamespaceCodec, MapKey: stringCodec, MaxParallelism: 128}, "01 02 61 00",
			`1 {"$raw":"AmEA","$type":"Own","$why":"unknown"}`},
		"raw by chance": {Schema{Kind: KindValue, Key: point, Namespace: voidNamespaceCodec, MaxParallelism: 128}, "01 04 0001 41 00",
			`1 {"$raw":"BAABQQA=","$type":"Point","$why":"class A, a subclass of Point that is not in the snapshot"}`},
		"raw map key": {Schema{Kind: KindMap, Key: int8Codec, Namespace: voidNamespaceCodec, MapKey: newRaw("Own", "unknown"), MaxParallelism: 128}, "01 07 00 ff",
			`1 7 {"$raw":"/w==","$type":"Own","$why":"unknown"}`},
	} {
		var row Row
		if err := c.s.DecodeKey(&row, unhex(t, c.hex)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := string(printKey(row))
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// printKey prints what DecodeKey found.
func printKey(row Row) []byte {
	out := appendPadded(nil, int64(row.KeyGroup), 1)
	for _, v := range [][]byte{row.Key, row.Namespace, row.MapKey, row.Value} {
		if v != nil {
			out = append(append(out, ' '), v...)
		}
	}
	return out
}

func TestDecodeKeyRefuses(t *testing.T) {
	s := &Schema{Name: "s", Kind: KindValue, Key: stringCodec, Namespace: stringCodec, MaxParallelism: 128}
	for hex, want := range map[string]string{
		"01 02 61 03 01 01":    `state "s": key: s: offset 4: the length behind a part of 2 bytes has byte 0x3`,
		"01 02 61 02 01 01 00": `state "s": key: s: offset 6: 1 bytes left over`,
		"01 02 61 02 01":       `state "s": key: s: offset 5: 1 bytes wanted, 0 left`,
		"":                     `state "s": key: s: offset 0: 1 bytes wanted, 0 left`,
	} {
		var row Row
		err := s.DecodeKey(&row, unhex(t, hex))
		if !errors.Is(err, fault.ErrCorrupt) || err.Error() != want {
			t.Errorf("%s: %v; want %s", hex, err, want)
		}
	}
}

func TestDecodeValue(t *testing.T) {
	ttl := newTTL([]Codec{int64Codec, stringCodec})
	for name, c := range map[string]struct {
		s    Schema
		hex  string
		want string
		ttl  int64
	}{
		"list":       {Schema{Kind: KindList, Value: int32Codec}, "2c2c2c2c 2c 2c2c2c2d", "[741092396,741092397]", 0},
		"one":        {Schema{Kind: KindList, Value: stringCodec}, "02 2c", `[","]`, 0},
		"null value": {Schema{Kind: KindMap, Value: int32Codec}, "01", "null", 0},
		"null again": {Schema{Kind: KindMap, Value: stringCodec}, "01 00", "null", 0}, // the mark, and the serializer's own null
		"map value":  {Schema{Kind: KindMap, Value: int32Codec}, "00 00000005", "5", 0},
		"ttl":        {Schema{Kind: KindValue, Value: ttl, TTL: true}, "0000000000000009 02 61", `"a"`, 9},
		"ttl list":   {Schema{Kind: KindList, Value: ttl, TTL: true}, "0000000000000009 02 61 2c 0000000000000007 02 62", `["a","b"]`, 9},
		"ttl map":    {Schema{Kind: KindMap, Value: ttl, TTL: true}, "00 0000000000000003 02 61", `"a"`, 3},
		"timer":      {Schema{Kind: KindTimer}, "", "", 0},
		"raw list":   {Schema{Kind: KindList, Value: newRaw("Own", "unknown")}, "00 2c 01", `{"$raw":"ACwB","$type":"Own","$why":"unknown"}`, 0},
		"raw inside": {Schema{Kind: KindMap, Value: newTuple([]Codec{int8Codec, newRaw("Own", "unknown")})}, "00 07 ff",
			`{"$raw":"B/8=","$type":"tuple(int8, raw Own)","$why":"Own: unknown"}`, 0},
	} {
		var row Row
		if err := c.s.DecodeValue(&row, unhex(t, c.hex)); err != nil || string(row.Value) != c.want || row.TTL != c.ttl || row.HasTTL != c.s.TTL {
			t.Errorf("%s: %s, %d, %v; want %s", name, row.Value, row.TTL, err, c.want)
		}
	}
	s := &Schema{Name: "s", Kind: KindList, Value: int32Codec}
	var row Row
	if err := s.DecodeValue(&row, unhex(t, "00000001 2d 00000002")); err == nil || !strings.Contains(err.Error(), `state "s": value: s: offset 5: 0x2d stands between two elements`) {
		t.Error(err)
	}
}

func TestKeyGroups(t *testing.T) {
	if got := OperatorID("my-uid"); got != "8409efe6adc6d20787611f16017c808f" {
		t.Error(got)
	}
	if KeyGroup(0, 128) != KeyGroup(0, 256)%128 || KeyGroup(12345, 0) != 0 {
		t.Error("key groups")
	}
	s := &Schema{Key: bigDecCodec, Namespace: voidNamespaceCodec, MaxParallelism: 128}
	for key, want := range map[string]bool{`"1.50"`: true, `"x"`: false, `1.5`: false, `{`: false} {
		if _, ok := s.KeyGroup([]byte(key)); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
}

func TestEncodeKeyRefuses(t *testing.T) {
	s := &Schema{Name: "s", Kind: KindMap, Key: int32Codec, Namespace: voidNamespaceCodec, MapKey: newTuple([]Codec{int8Codec, stringCodec})}
	for _, c := range []struct{ key, namespace, mapKey, want string }{
		{`"x"`, "", "", `state "s": key: key "x": a whole number of 32 bits is expected`},
		{`3000000000`, "", "", `a whole number of 32 bits is expected`},
		{`1`, `"w"`, "", `the state has no namespaces`},
		{`1`, "", `[1]`, `map key [1]: an array of 2 is expected, not of 1`},
		{`1`, "", `[1,2]`, `f1: a string is expected`},
		{`{`, "", "", `unexpected end of JSON input`},
	} {
		part := func(t string) []byte {
			if t == "" {
				return nil
			}
			return []byte(t)
		}
		if _, _, _, err := s.EncodeKey(part(c.key), part(c.namespace), part(c.mapKey)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %s: %v; want %s", c.key, c.namespace, c.mapKey, err, c.want)
		}
	}
}

// TestEncodeKeyMembers: a POJO's members must all be named, each once, and no other; the error says which there are.
func TestEncodeKeyMembers(t *testing.T) {
	s := &Schema{Name: "s", Kind: KindValue, Key: point, Namespace: voidNamespaceCodec}
	for key, want := range map[string]string{
		`{"label":"a","x":1}`:                   "",
		`{"$class":"Point","label":null,"x":1}`: "",
		`{"$class":"Point3","z":2}`:             "",
		`{"label":"a"}`:                         `member "x" is missing: an object of the members x, label is expected`,
		`{"label":"a","x":1,"y":2}`:             `there is no member "y": an object of the members x, label is expected`,
		`{"label":"a","x":1,"x":1}`:             `member "x" is there twice`,
		`{"$class":"Point3"}`:                   `member "z" is missing`,
		`[1,"a"]`:                               "an object is expected",
	} {
		if _, _, _, err := s.EncodeKey([]byte(key), nil, nil); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", key, err, want)
		}
	}
}
