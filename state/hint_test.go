package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// hints parses hints whose files are given.
func hints(t testing.TB, files map[string][]byte, texts ...string) *Hints {
	t.Helper()
	var list []Hint
	for _, text := range texts {
		h, err := ParseHint(text)
		if err != nil {
			t.Fatal(err)
		}
		h.Data = files[h.File]
		list = append(list, h)
	}
	all, err := NewHints(list)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHintedStreams reads values of classes that no snapshot describes: Kryo beans, and POJO subclasses that were met after the snapshot began.
func TestHintedStreams(t *testing.T) {
	for _, name := range []string{"serializers-1.20", "serializers-2.3"} {
		h := hints(t, nil, "cg.Types10$Opaque=fields:s:String,n:int,data:long[]", "cg.Types10$Registered=fields:v:String",
			"cg.Types10$Cat=fields:legs:Integer,lives:Long,name:String")
		var out bytes.Buffer
		eachStream(t, name, func(head fixtureLine, entries []fixtureLine) {
			r := javaio.NewReader("fixture", 0, head.Meta)
			m := ReadKeyedMeta(r, Options{Kryo5: head.Kryo5, Hints: h})
			var row Row
			for _, e := range entries {
				s := m.state(e.State)
				s.MaxParallelism = head.Max
				switch e.State {
				case "v_opaque_kryo", "v_registered_kryo", "v_object_kryo", "v_animal":
					writeRow(t, &out, s, &row, e)
				}
				// Where a value has no frame, its end is found all the same.
				r := javaio.NewReader("", 0, e.Value)
				if s.Kind == KindValue {
					s.Value.Skip(r)
					r.End()
				}
				if r.Err() != nil {
					t.Errorf("%s: skip: %v", e.State, r.Err())
				}
			}
		})
		if strings.Contains(out.String(), "$raw") {
			t.Error(name, "has a value that is not decoded")
		}
		golden(t, "hinted-"+name, out.String())
		if name == "serializers-1.20" && len(h.Unmet()) > 0 {
			t.Error("not met:", h.Unmet())
		}
	}
}

// descriptors is the set of a file with one message of every kind of field.
func descriptors(t testing.TB) []byte {
	t.Helper()
	type D = descriptorpb.FieldDescriptorProto
	field := func(n int32, name string, kind descriptorpb.FieldDescriptorProto_Type, more ...func(*D)) *D {
		f := &D{Name: proto.String(name), Number: proto.Int32(n), Type: kind.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		for _, m := range more {
			m(f)
		}
		return f
	}
	of := func(name string) func(*D) { return func(f *D) { f.TypeName = proto.String(name) } }
	repeated := func(f *D) { f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum() }
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("event.proto"), Package: proto.String("acme"), Syntax: proto.String("proto3"), Dependency: []string{"google/protobuf/timestamp.proto"},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Color"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("RED"), Number: proto.Int32(0)}, {Name: proto.String("BLUE"), Number: proto.Int32(1)},
		}}},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Event"),
			Field: []*D{
				field(1, "user_id", descriptorpb.FieldDescriptorProto_TYPE_INT64), field(2, "name", descriptorpb.FieldDescriptorProto_TYPE_STRING),
				field(3, "big", descriptorpb.FieldDescriptorProto_TYPE_UINT64), field(4, "color", descriptorpb.FieldDescriptorProto_TYPE_ENUM, of(".acme.Color")),
				field(5, "tags", descriptorpb.FieldDescriptorProto_TYPE_STRING, repeated), field(6, "next", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, of(".acme.Event")),
				field(7, "at", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, of(".google.protobuf.Timestamp")),
				field(8, "counts", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, of(".acme.Event.CountsEntry"), repeated),
				field(9, "data", descriptorpb.FieldDescriptorProto_TYPE_BYTES), field(10, "ratio", descriptorpb.FieldDescriptorProto_TYPE_DOUBLE),
			},
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: proto.String("CountsEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*D{field(1, "key", descriptorpb.FieldDescriptorProto_TYPE_STRING), field(2, "value", descriptorpb.FieldDescriptorProto_TYPE_INT32)},
			}},
		}},
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), file}}
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const plainSchema = `{"type":"record","name":"R","fields":[{"name":"z","type":"int"},{"name":"l","type":"long"},{"name":"s","type":["null","string"]},
	{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"a","type":{"type":"array","items":"int"}},{"name":"m","type":{"type":"map","values":"double"}},
	{"name":"f","type":"float"},{"name":"b","type":"bytes"},{"name":"x","type":{"type":"fixed","name":"F","size":2}},{"name":"t","type":"boolean"}]}`

func TestHintedBytes(t *testing.T) {
	files := map[string][]byte{"set": descriptors(t), "schema": []byte(plainSchema)}
	const event = `{"at":null,"big":0,"color":"RED","counts":{},"data":"","name":"","next":null,"ratio":0.0,"tags":[],"user_id":0}`
	for _, c := range []struct{ form, hex, out string }{
		{"utf8", "c3bc", `"ü"`}, {"utf8", "", `""`}, {"utf8", "c3", "not UTF-8"}, {"hex", "00ff", `"00ff"`},
		{"json", hexOf(` { "b" : [ 1 , 2.50,{} ,[]] , "a" : "\u00fc\ud83d\ude80\ud800" , "c":null} `), `{"a":"ü🚀\ud800","b":[1,2.50,{},[]],"c":null}`},
		{"json", hexOf(`12345678901234567890.10`), `12345678901234567890.10`}, {"json", hexOf(`{"a":1,"\u0061":2}`), `member \"a\" stands there twice`},
		{"json", hexOf(`{"a":}`), "not JSON"}, {"json", "22ff22", "not JSON"}, {"json", hexOf(strings.Repeat("[", 1001) + strings.Repeat("]", 1001)), "nests deeper than 1000"},
		{"protobuf:set#acme.Event", "", event},
		{"protobuf:set#acme.Event", "08 ffffffffffffffffff01 18 ffffffffffffffffff01 2001 2a0178 2a0179 3a0408011002 42050a016b1007 4a0100 51000000000000f03f",
			`{"at":"1970-01-01T00:00:01.000000002Z","big":18446744073709551615,"color":"BLUE","counts":{"k":7},"data":"AA==","name":"","next":null,"ratio":1.0,"tags":["x","y"],"user_id":-1}`},
		{"protobuf:set#acme.Event", "3202 0805", strings.Replace(event, `"next":null`, `"next":`+strings.Replace(event, `"user_id":0`, `"user_id":5`, 1), 1)},
		{"protobuf:set#acme.Event", "08", "not a acme.Event"}, {"protobuf:set#acme.Event", "780a", "has fields that its descriptor lacks"},
		{"protobuf:set#acme.Event", "2009", "field color has the unknown constant 9"},
		{"avro:schema", "03 05 02 0278 02 03 04 02 04 00 01 02 026b 000000000000f03f 00 0000803f 02ff 0102 01",
			`{"a":[1,2],"b":"/w==","e":"B","f":1.0,"l":-3,"m":{"k":1.0},"s":"x","t":true,"x":"AQI=","z":-2}`},
		{"avro:schema", "03 05 00 02 00 00 0000803f 00 0102 01 00", "1 bytes left over"}, {"avro:schema", "03 05 04", "branch 2 of a union of 2"},
		{"avro:schema", "ffffffffff0f", "is no int32"},
		{"int32:utf8", "00000002 6162", `"ab"`}, {"varint:utf8", "02 6162", `"ab"`}, {"int32:hex", "00000000", `""`},
	} {
		p := &snapshots{o: Options{Hints: hints(t, files, "acme.Class="+c.form)}}
		codec := p.raw("acme.Class", "")
		for _, c := range []Codec{codec, whole(codec)} {
			if _, ok := c.(wholeCodec); ok { // without a frame it must fault
				r := javaio.NewReader("", 0, unhex(t, "00"))
				if c.Skip(r); !errors.Is(r.Err(), fault.ErrUnsupported) {
					t.Errorf("skip: %v", r.Err())
				}
			}
		}
		r := javaio.NewReader("test", 0, unhex(t, c.hex))
		got := string(appendFramed(nil, whole(codec), r))
		r.End()
		raw := strings.HasPrefix(got, `{"$raw":`)
		if r.Err() != nil || got != c.out && (!raw || !strings.Contains(got, c.out)) {
			t.Errorf("%s of %s: %s, %v; want %s", c.form, c.hex, got, r.Err(), c.out)
		}
	}
}

// TestHintsAreChecked: what cannot be meant is refused by name, before anything is read.
func TestHintsAreChecked(t *testing.T) {
	for _, text := range []string{"", "x", "=utf8", "x=", "x=utf9", "x=utf8:y", "x=avro", "x=protobuf:f", "x=protobuf:f#", "x=protobuf:#M", "x=int32:fields:a:int"} {
		if h, err := ParseHint(text); err == nil {
			t.Errorf("%q: %+v", text, h)
		}
	}
	for form, want := range map[string]string{
		"fields:a": "name:type is expected", "fields:a:int,a:long": "given twice", "fields:a:Foo": "not known", "fields:a:List": "1 type parameters, not 0",
		"fields:a:List<int>": "cannot be a type parameter", "fields:a:List<List<String>>": "cannot be", "fields:a:Map<String": "> is missing",
		"avro:f": "neither a name", "protobuf:f#M": "is no descriptor set", "protobuf:ok#acme.Nope": "it has acme.Event, google.protobuf.Timestamp",
	} {
		h, err := ParseHint("x=" + form)
		if err != nil {
			t.Fatal(err)
		}
		if h.Data = []byte{0xFF}; h.File == "ok" {
			h.Data = descriptors(t)
		}
		if _, err := NewHints([]Hint{h}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "hint for x: ") {
			t.Errorf("%s: %v; want %s", form, err, want)
		}
	}
}

// TestHintedKryo: bytes that a serializer of the job's wrote into Kryo, and beans with collections.
func TestHintedKryo(t *testing.T) {
	const object = "java.lang.Object"
	for _, c := range []struct{ class, hint, v2, v5, out string }{ // v5 "" where both are the same
		{"acme.B", "acme.B=utf8", "57 01 6162", "", `"ab"`}, {object, "acme.B=utf8", named("acme.B") + "01 6162", "", `"ab"`},
		{object, "acme.B=varint:utf8", named("acme.B") + "01 02 6162", "", `"ab"`}, {object, "acme.B=int32:utf8", named("acme.B") + "01 00000002 6162", named("acme.B") + "01 02000000 6162", `"ab"`},
		{"java.util.ArrayList", "acme.B=varint:json", "57 01 01" + named("acme.B") + "01 02 5b5d", "57 01 82" + named("acme.B") + "00 01 02 5b5d", "[[]]"},
		{"java.util.ArrayList", "acme.B=json", "57 01 01" + named("acme.B") + "01 5b5d", "57 01 82" + named("acme.B") + "00 01 5b5d", "where its bytes end is not known"},
		{"acme.B", "acme.B=fields:b:boolean,i:int,j:Integer,s:String,o:Object", "57 01 01 02 01 04 0206 01 8278", "", `{"b":true,"i":1,"j":2,"o":3,"s":"x"}`},
		{"acme.B", "acme.B=fields:j:Integer", "57 01 01 04 05", "", "hint fields: 1 bytes left over"}, {"acme.B", "acme.B=fields:j:Integer,k:long[]", "57 01 01 04", "", "hint fields: "},
		{"acme.B", "acme.B=fields:j:Integer,k:Integer", "57 01 00 01 04", "", `{"j":null,"k":2}`},
		{"acme.B", "acme.B=fields:l:List<String>,m:Map<String,Object>", // a null list; a map whose keys have no class
			"57 01 00" + named("java.util.HashMap") + "01 01 01 8278 0202", "57 01 00" + named("java.util.HashMap") + "01 02 01 8278 0202", `{"l":null,"m":{"x":1}}`},
		{"acme.B", "acme.B=fields:l:List<String>", "57 01" + named("java.util.ArrayList") + "01 02 01 8278 04", "57 01" + named("java.util.ArrayList") + "01 03 01 8278 04", `{"l":["x","x"]}`},
		{"acme.B", "acme.B=fields:l:List<String>", "57 01" + named("java.util.ArrayList") + "01 02 01 8278 00", "57 01" + named("java.util.ArrayList") + "01 83 01 8278 00", `{"l":["x",null]}`},
		{"acme.B", "acme.B=fields:l:List<String>", "57 01" + named("java.util.Collections$SingletonList") + "01 0202", "", "in a field with type parameters"},
	} {
		for i, text := range []string{c.v2, c.v5} {
			if text == "" {
				text = c.v2
			}
			k := kryoOf([]*kryoVersion{&kryo24, &kryo5}[i], c.class)
			k.hints = hints(t, nil, c.hint)
			k.typ = k.declared(c.class)
			k.ids[len(k.ids)-1] = k.own(k.byName(c.class))
			r := javaio.NewReader("test", 0, unhex(t, text))
			got := string(appendFramed(nil, whole(k), r))
			r.End()
			if raw := strings.HasPrefix(got, `{"$raw":`); r.Err() != nil || got != c.out && (!raw || !strings.Contains(got, c.out)) {
				t.Errorf("%d, %s, %s: %s, %v; want %s", i, c.hint, text, got, r.Err(), c.out)
			}
		}
	}
}

// snapshotOf writes the head of a keyed stream with one value state of a serializer's snapshot.
func snapshotOf(class string, payload []byte) []byte {
	utf := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	u32 := binary.BigEndian.AppendUint32
	wrapped := func(b []byte, class string, payload []byte) []byte {
		return append(u32(utf(u32(b, 2), class), 3), payload...)
	}
	b := append(u32(nil, 6), 0)
	b = wrapped(b, base+"LongSerializer$LongSerializerSnapshot", nil)
	b = utf(append(b, 0, 1), "s")
	b = utf(utf(u32(u32(b, 0), 1), "KEYED_STATE_TYPE"), "VALUE")
	b = u32(b, 2)
	b = wrapped(utf(b, "NAMESPACE_SERIALIZER"), "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", nil)
	return wrapped(utf(b, "VALUE_SERIALIZER"), class, payload)
}

// TestForeignSerializer: a hint promises that the snapshot of a user's own serializer is empty, and a lie shows.
func TestForeignSerializer(t *testing.T) {
	read := func(meta []byte, h *Hints) (*KeyedMeta, error) {
		r := javaio.NewReader("meta", 0, meta)
		m := ReadKeyedMeta(r, Options{Hints: h})
		r.End()
		return m, r.Err()
	}
	const class = "acme.EventSerializer"
	meta := snapshotOf(class+"$Snapshot", nil)
	if _, err := read(meta, nil); !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), class) {
		t.Error(err)
	}
	for _, name := range []string{class, class + "$Snapshot"} {
		m, err := read(meta, hints(t, nil, name+"=int32:json"))
		if err != nil {
			t.Fatal(err)
		}
		var row Row
		if err := m.States[0].DecodeValue(&row, unhex(t, "00000002 5b5d")); err != nil || string(row.Value) != "[]" {
			t.Errorf("%s, %v", row.Value, err)
		}
	}
	if _, err := read(snapshotOf(class, []byte{1}), hints(t, nil, class+"=utf8")); !errors.Is(err, fault.ErrCorrupt) {
		t.Error(err)
	}
}

func FuzzHints(f *testing.F) {
	all := hints(f, map[string][]byte{"set": descriptors(f), "schema": []byte(plainSchema)}, "a=protobuf:set#acme.Event", "b=avro:schema", "c=json", "d=utf8",
		"e=fields:a:int,b:List<String>,c:Map<String,Long>,d:Object,e:long[],f:UUID,g:Set<Object>")
	f.Add(unhex(f, "08 ffffffffffffffffff01 2a0178 32020805 3a0408011002 42050a016b1007"))
	f.Add(unhex(f, "03 05 02 0278 02 03 04 02 04 00 01 02 026b 000000000000f03f 00 0000803f 02ff 0102 01"))
	f.Add([]byte(`{"a":[1,{"b":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for class, h := range all.byClass {
			if h.decode != nil {
				out := string(h.appendValue(nil, b))
				if again := string(h.appendValue(nil, b)); again != out {
					t.Fatalf("%s: %s, then %s", class, out, again)
				}
				if class == "c" && !strings.HasPrefix(out, `{"$raw"`) {
					if twice, err := appendCanonical(nil, []byte(out)); err != nil || string(twice) != out {
						t.Fatalf("%s, again %s, %v", out, twice, err)
					}
				}
				continue
			}
			for i, v := range []*kryoVersion{&kryo24, &kryo5} {
				r := javaio.NewReader("", 0, b)
				(&kryoCodec{version: v, ids: []*kryoType{h.kryo[i]}, hints: all}).AppendJSON(nil, r)
				checkFault(t, r.Err())
				r.Reset("", 0, b)
				h.shape.pojos[i].codec.AppendJSON(nil, r)
				checkFault(t, r.Err())
			}
		}
	})
}

func ExampleParseHint() {
	h, err := ParseHint("com.acme.Event=varint:protobuf:event.desc#acme.Event")
	fmt.Println(h.Class, h.Frame, h.Form, h.File, h.Message, err)
	// Output: com.acme.Event varint protobuf event.desc acme.Event <nil>
}

// TestHintedAvroSerializer: where the snapshot's own schema cannot be parsed, the hint's is applied to Flink's encoding.
func TestHintedAvroSerializer(t *testing.T) {
	payload := encodeFlinkString(encodeFlinkString(nil, []byte("acme.User")), []byte(`{"type":"recrd"}`))
	meta := snapshotOf("org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot", payload)
	r := javaio.NewReader("meta", 0, meta)
	m := ReadKeyedMeta(r, Options{Hints: hints(t, map[string][]byte{"f": []byte(record(`{"name":"id","type":"int"}`))}, "acme.User=avro:f")})
	if r.End(); r.Err() != nil {
		t.Fatal(r.Err())
	}
	var row Row
	if err := m.States[0].DecodeValue(&row, unhex(t, "00000007")); err != nil || string(row.Value) != `{"id":7}` {
		t.Errorf("%s, %v", row.Value, err)
	}
}
