package state

import (
	"fmt"
	"strings"
	"testing"
)

func pojoOf(class string, fields ...any) *objectCodec {
	c := &objectCodec{typ: Type{Kind: Object, Class: class}, others: map[string]*subclass{}}
	for i := 0; i < len(fields); i += 2 {
		c.field(fields[i].(string), fields[i+1].(Codec))
	}
	c.arrange()
	return c
}

func enumOf(symbols ...string) Codec { return avroEnum("E", symbols) }

func avroRootOf(t *testing.T, schema string) Codec {
	t.Helper()
	c, err := parseAvro([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return &avroRoot{c, []byte(schema)}
}

func record(fields string) string {
	return `{"type":"record","name":"R","namespace":"x","fields":[` + fields + `]}`
}

// TestCompare: what Flink's serializer snapshots make of a change.
func TestCompare(t *testing.T) {
	list := func(c Codec) Codec { return newList([]Codec{c}) }
	pojo := pojoOf("P", "a", int32Codec, "b", stringCodec)
	withSubclass := pojoOf("P", "a", int32Codec, "b", stringCodec)
	sub := withSubclass.subclass("S", pojoOf("S", "a", int32Codec))
	withSubclass.others["S"] = &sub
	avro := func(fields string) Codec { return avroRootOf(t, record(fields)) }
	const id, idLong = `{"name":"id","type":"int"}`, `{"name":"id","type":"long"}`
	kryo := func(v *kryoVersion, class string) Codec { return kryoOf(v, class) }
	for _, c := range []struct {
		name string
		a, b Codec
		want string // what path before after effect; …
	}{
		{"same", pojo, pojoOf("P", "a", int32Codec, "b", stringCodec), ""},
		{"field added", pojo, pojoOf("P", "a", int32Codec, "b", stringCodec, "c", list(int64Codec)), "field added value.c  list<int64> needs migration"},
		{"field removed", pojo, pojoOf("P", "b", stringCodec), "field removed value.a int32  needs migration"},
		{"reordered", pojo, pojoOf("P", "b", stringCodec, "a", int32Codec), "fields reordered value   compatible"},
		{"widened", pojo, pojoOf("P", "a", int64Codec, "b", stringCodec), "widened value.a int32 int64 incompatible"},
		{"type", pojo, pojoOf("P", "a", stringCodec, "b", stringCodec), "type changed value.a int32 string incompatible"},
		{"class", pojo, pojoOf("Q", "a", int32Codec, "b", stringCodec), "class changed value P(a int32, b string) Q(a int32, b string) incompatible"},
		{"subclass", pojo, withSubclass, "subclass added value  S compatible"},
		{"subclass gone", withSubclass, pojo, "subclass no longer listed value.(S)   compatible"},
		{"inside", list(pojo), list(pojoOf("P", "a", int32Codec)), "field removed value[].b string  needs migration"},
		{"inside a tuple", newTuple([]Codec{pojo}), newTuple([]Codec{pojoOf("P", "a", int32Codec)}), "field removed value.f0.b string  needs migration"},
		{"tuple", newTuple([]Codec{int32Codec}), newTuple([]Codec{int32Codec, int32Codec}), "number of fields changed value tuple(int32) tuple(int32, int32) incompatible"},
		{"constants", enumOf("A", "B"), enumOf("B", "A", "C"), "constant added value  C compatible; constants reordered value A, B B, A compatible"},
		{"constant gone", enumOf("A", "B"), enumOf("B"), "constant removed value A  incompatible"},
		{"family", list(int32Codec), int32Codec, "serializer changed value list<int32> int32 incompatible"},
		{"TTL", int32Codec, &ttlCodec{int32Codec}, "TTL enabled value   needs migration"},
		{"no TTL", &ttlCodec{int32Codec}, int64Codec, "TTL disabled value   needs migration; widened value int32 int64 incompatible"},
		{"opaque", newRaw("X", "y"), newRaw("X", "y"), "not compared value X  compatible"},
		{"opaque", newRaw("X", "y"), newRaw("Z", "y"), "type changed value raw X raw Z incompatible"},
		{"Kryo", kryo(&kryo24, "java.util.UUID"), kryo(&kryo5, "java.util.UUID"), "serializer changed value Kryo 2.24 Kryo 5 incompatible"},
		{"Kryo", kryo(&kryo5, "java.util.UUID"), kryo(&kryo5, "java.util.HashMap"), "class changed value uuid map<any,any> incompatible"},
		{"avro same", avro(id), avro(` { "name" : "id", "type":"int"}`), ""},
		{"avro default", avro(id), avro(id + `,{"name":"n","type":["null","string"],"default":null}`), "field added value.n  string needs migration"},
		{"avro no default", avro(id), avro(id + `,{"name":"n","type":"string"}`), "field added value.n  string compatible; schemas do not resolve value   incompatible"},
		{"avro widened", avro(id), avro(idLong), "widened value.id int32 int64 needs migration"},
		{"avro narrowed", avro(idLong), avro(id), "type changed value.id int64 int32 compatible; schemas do not resolve value   incompatible"},
		{"avro doc", avro(id), avro(`{"name":"id","type":"int","doc":"x"}`), ""},
		{"avro default", avro(id), avro(`{"name":"id","type":"int","default":1}`), "schema changed value   needs migration"},
		{"avro alias", avro(id), avro(`{"name":"nr","type":"int","aliases":["id"]}`), "field removed value.id int32  needs migration; field added value.nr  int32 needs migration"},
		{"avro union", avro(`{"name":"u","type":["int","string"]}`), avro(`{"name":"u","type":["string"]}`), "type changed value.u any union string compatible; schemas do not resolve value   incompatible"},
		{"avro symbols", avro(`{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}`), avro(`{"name":"e","type":{"type":"enum","name":"E","symbols":["B"],"default":"B"}}`), "constant removed value.e A  needs migration"},
		{"avro tree", avro(`{"name":"l","type":["null","R"]}`), avro(`{"name":"l","type":["null","R"]},{"name":"n","type":"int","default":0}`), "field added value.n  int32 needs migration"},
	} {
		a, b := &Schema{Kind: KindValue, Key: int64Codec, Value: c.a}, &Schema{Kind: KindValue, Key: int64Codec, Value: c.b}
		var got []string
		for _, d := range Compare(a, b) {
			got = append(got, fmt.Sprint(d.What, " ", d.Path, " ", d.Before, " ", d.After, " ", d.Effect))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// TestCompareKeys: what a value may, a key may not.
func TestCompareKeys(t *testing.T) {
	a, b := pojoOf("P", "a", int32Codec), pojoOf("P", "a", int32Codec, "b", int32Codec)
	for want, schemas := range map[Verdict][2]*Schema{
		Incompatible:   {{Kind: KindValue, Key: a, Value: int32Codec}, {Kind: KindValue, Key: b, Value: int32Codec}},
		NeedsMigration: {{Kind: KindBroadcast, MapKey: a, Value: int32Codec}, {Kind: KindBroadcast, MapKey: b, Value: int32Codec}},
	} {
		if got := Worst(Compare(schemas[0], schemas[1])); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := Compare(&Schema{Kind: KindList, Value: a}, &Schema{Kind: KindValue, Value: a}); len(got) != 1 || got[0].What != "kind changed" {
		t.Error(got)
	}
}

// TestTTLOfFlink1: what Flink 2 migrates is refused by Flink 1.
func TestTTLOfFlink1(t *testing.T) {
	schemas := [2]*Schema{{Kind: KindValue, Value: int32Codec}, {Kind: KindValue, Value: &ttlCodec{int32Codec}}}
	for i := range schemas {
		d := Compare(schemas[i], schemas[1-i])
		if Worst(d) != NeedsMigration {
			t.Errorf("%v", d)
		}
		if RefuseTTL(d); len(d) != 1 || Worst(d) != Incompatible {
			t.Errorf("Flink 1: %v", d)
		}
	}
}
