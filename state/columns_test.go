package state

import (
	"fmt"
	"strings"
	"testing"
)

func printColumns(columns []Column) string {
	var out []string
	for _, c := range columns {
		key := ""
		if c.Key {
			key = " key"
		}
		out = append(out, fmt.Sprintf("%s=%s %s%s", c.Name, c.Path, c.Type.ColumnType(), key))
	}
	return strings.Join(out, "\n")
}

// object makes a POJO's codec without flags about subclasses.
func object(class string, fields ...any) *objectCodec {
	c := &objectCodec{typ: Type{Kind: Object, Class: class, Nullable: true}}
	for i := 0; i < len(fields); i += 2 {
		c.field(fields[i].(string), fields[i+1].(Codec))
	}
	c.arrange()
	return c
}

var address = object("Address", "zip", int32Codec, "city", stringCodec)

var columnSchemas map[string]*Schema

func init() { columnSchemas = schemas() } // after the codecs are ready

func schemas() map[string]*Schema {
	return map[string]*Schema{
		"value":     {Kind: KindValue, Key: stringCodec, Namespace: voidNamespaceCodec, Value: int64Codec},
		"window":    {Kind: KindReducing, Key: int64Codec, Namespace: timeWindowCodec, Value: bigDecCodec},
		"map":       {Kind: KindMap, Key: newTuple([]Codec{stringCodec, int64Codec}), Namespace: voidNamespaceCodec, MapKey: localDateCodec, Value: object("V", "at", instantCodec, "map_key", boolCodec), TTL: true},
		"list":      {Kind: KindList, Key: object("K", "b", stringCodec, "a", newList([]Codec{int8Codec})), Namespace: globalWindowCodec, Value: address},
		"nested":    {Kind: KindValue, Key: bytesCodec, Namespace: voidNamespaceCodec, Value: object("P", "name", stringCodec, "home", address, "id", kryoOf(&kryo24, "java.util.UUID"))},
		"subclass":  {Kind: KindValue, Key: stringCodec, Namespace: voidNamespaceCodec, Value: point},
		"raw":       {Kind: KindValue, Key: stringCodec, Namespace: voidNamespaceCodec, Value: object("P", "name", stringCodec, "bean", newRaw("Bean", "unknown"))},
		"timer":     {Kind: KindTimer, Key: stringCodec, Namespace: timeWindowCodec},
		"broadcast": {Kind: KindBroadcast, MapKey: stringCodec, Value: address},
		"oplist":    {Kind: KindOpList, Value: newTuple([]Codec{stringCodec, int64Codec})},
	}
}

func TestDefaultColumns(t *testing.T) {
	for name, want := range map[string]string{
		"value":     "key=key string key\nvalue=value int64",
		"window":    "key=key int64 key\nnamespace=namespace json key\nvalue=value decimal",
		"map":       "key_f0=key.f0 string key\nkey_f1=key.f1 int64 key\nmap_key=map_key date key\nat=value.at instant\nvalue_map_key=value.map_key bool",
		"list":      "key_a=key.a json key\nkey_b=key.b string key\nnamespace=namespace string key\nvalue=value json",
		"nested":    "key=key bytes key\nhome=value.home json\nid=value.id uuid\nname=value.name string",
		"subclass":  "key=key string key\n$class=value.$class string\nlabel=value.label string\nx=value.x int32\nz=value.z float64",
		"raw":       "key=key string key\nvalue=value json",
		"timer":     "key=key string key\nnamespace=namespace json key\nvalue=value int64 key",
		"broadcast": "map_key=map_key string key\ncity=value.city string\nzip=value.zip int32",
		"oplist":    "value=value json",
	} {
		if got := printColumns(DefaultColumns(columnSchemas[name])); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestParseColumns(t *testing.T) {
	for _, c := range []struct{ schema, mappings, want string }{
		{"value", "id=key balance=value", "id=key string key\nbalance=value int64"},
		{"window", "k=key from=namespace.start to=namespace.end v=value", "k=key int64 key\nfrom=namespace.start int64 key\nto=namespace.end int64 key\nv=value decimal"},
		{"map", "a=key.f0 b=key.f1 day=map_key seen=ttl_ts", "a=key.f0 string key\nb=key.f1 int64 key\nday=map_key date key\nseen=ttl_ts int64"},
		{"map", "a=key.f0 b=key.f1:text day=map_key:text", "a=key.f0 string key\nb=key.f1 string key\nday=map_key string key"},
		{"nested", "id=key city=value.home.city", "id=key bytes key\ncity=value.home.city string"},
		{"value", "balance=value", `no column shows "key", without which rows cannot be told apart`},
		{"map", "a=key.f0", `no column shows "key.f1", without which rows cannot be told apart` + "\n" + `no column shows "map_key", without which rows cannot be told apart`},
		{"timer", "k=key n=namespace", `no column shows "value", without which rows cannot be told apart`},
		{"value", "id=key id=value x=namespace y=value.z =key", `column "id" is named twice` + "\n" +
			`column "x": path "namespace": the state has no "namespace" (it has key, value)` + "\n" +
			`column "y": path "value.z": int64 has no members` + "\n" + `path "key" has no column name`},
		{"nested", "id=key x=value.home.street", `column "x": path "value.home.street": object has no member "street" (it has city, zip)`},
	} {
		var mappings []Mapping
		for _, m := range strings.Fields(c.mappings) {
			name, path, _ := strings.Cut(m, "=")
			path, text := strings.CutSuffix(path, ":text")
			mappings = append(mappings, Mapping{name, Path(path), text})
		}
		columns, err := ParseColumns(columnSchemas[c.schema], mappings)
		got := printColumns(columns)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.schema, c.mappings, got, c.want)
		}
	}
}

func TestProjection(t *testing.T) {
	nested := `{"home":{"city":"Übach","zip":1},"id":null,"name":"a,\"}"}`
	for _, c := range []struct {
		schema, mappings string // "" for the default columns
		row              Row
		key, all         string
	}{
		{"value", "", Row{Key: []byte(`"k"`), Value: []byte("5")}, `{"key":"k"}`, `{"key":"k","value":5}`},
		{"value", "v=value id=key", Row{Key: []byte(`"k"`), Value: []byte("5")}, `{"id":"k"}`, `{"v":5,"id":"k"}`},
		{"nested", "", Row{Key: []byte(`"aa=="`), Value: []byte(nested)}, `{"key":"aa=="}`, `{"key":"aa==","home":{"city":"Übach","zip":1},"id":null,"name":"a,\"}"}`},
		{"nested", "id=key city=value.home.city all=value.home", Row{Key: []byte(`""`), Value: []byte(nested)}, `{"id":""}`, `{"id":"","city":"Übach","all":{"city":"Übach","zip":1}}`},
		{"nested", "id=key:text all=value.home:text name=value.name:text none=value.id:text", Row{Key: []byte(`"aa=="`), Value: []byte(nested)}, `{"id":"aa=="}`,
			`{"id":"aa==","all":"{\"city\":\"Übach\",\"zip\":1}","name":"a,\"}","none":null}`},
		{"map", "b=key.f1:text a=key.f0 d=map_key:text", Row{Key: []byte(`["x",-1]`), MapKey: []byte(`"2024-02-29"`), Value: []byte("null")},
			`{"b":"-1","a":"x","d":"2024-02-29"}`, `{"b":"-1","a":"x","d":"2024-02-29"}`},
		{"nested", "", Row{Key: []byte(`""`), Value: []byte("null")}, `{"key":""}`, `{"key":"","home":null,"id":null,"name":null}`},
		{"map", "", Row{Key: []byte(`["x",-1]`), MapKey: []byte(`"2024-02-29"`), Value: []byte(`{"at":null,"map_key":true}`)}, `{"key_f0":"x","key_f1":-1,"map_key":"2024-02-29"}`,
			`{"key_f0":"x","key_f1":-1,"map_key":"2024-02-29","at":null,"value_map_key":true}`},
		{"map", "b=key.f1 a=key.f0 d=map_key ts=ttl_ts", Row{Key: []byte(`["x",-1]`), MapKey: []byte(`"2024-02-29"`), Value: []byte("null"), TTL: 7, HasTTL: true},
			`{"b":-1,"a":"x","d":"2024-02-29"}`, `{"b":-1,"a":"x","d":"2024-02-29","ts":7}`},
		{"subclass", "", Row{Key: []byte(`"k"`), Value: []byte(`{"$class":"Point3","z":1.0}`)}, `{"key":"k"}`, `{"key":"k","$class":"Point3","label":null,"x":null,"z":1.0}`},
		{"timer", "", Row{Key: []byte(`"k"`), Namespace: []byte(`{"start":1,"end":2}`), Value: []byte("9")}, `{"key":"k","namespace":{"start":1,"end":2},"value":9}`, `{"key":"k","namespace":{"start":1,"end":2},"value":9}`},
	} {
		s := columnSchemas[c.schema]
		columns := DefaultColumns(s)
		if c.mappings != "" {
			var mappings []Mapping
			for _, m := range strings.Fields(c.mappings) {
				name, path, _ := strings.Cut(m, "=")
				path, text := strings.CutSuffix(path, ":text")
				mappings = append(mappings, Mapping{name, Path(path), text})
			}
			var err error
			if columns, err = ParseColumns(s, mappings); err != nil {
				t.Fatal(err)
			}
		}
		p := NewProjection(columns)
		key, err := p.AppendKey(nil, &c.row)
		if err != nil || string(key) != c.key {
			t.Errorf("%s: key %s, %v; want %s", c.schema, key, err, c.key)
		}
		all, err := p.AppendRow(nil, &c.row)
		if err != nil || string(all) != c.all {
			t.Errorf("%s: row %s, %v; want %s", c.schema, all, err, c.all)
		}
	}
}

// TestProjectionDropsNothing: under the default columns a member without a column, and a value that was not decoded, are faults.
func TestProjectionDropsNothing(t *testing.T) {
	p := NewProjection(DefaultColumns(columnSchemas["nested"]))
	for value, want := range map[string]string{
		`{"home":null,"id":null,"name":null,"new":1}`:            `the value has a member "new" that no column shows`,
		`{"$raw":"AA==","$type":"P","$why":"class Q is not in"}`: `the value is not decoded: "$type":"P","$why":"class Q is not in"`,
		`[1]`: "the value has a member 0 that no column shows",
		`5`:   "the value has no members: 5",
	} {
		_, err := p.AppendRow(nil, &Row{Key: []byte(`""`), Value: []byte(value)})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", value, err, want)
		}
	}
}
