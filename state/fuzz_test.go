package state

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// checkFault fails unless err is nil, corrupt or unsupported.
func checkFault(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
		t.Fatal(err)
	}
}

func FuzzKeyedMeta(f *testing.F) {
	for _, name := range fixtures {
		eachStream(f, name, func(head fixtureLine, _ []fixtureLine) { f.Add(head.Meta, head.Kryo5) })
	}
	f.Fuzz(func(t *testing.T, b []byte, kryo5 bool) {
		r := javaio.NewReader("fuzz", 0, b)
		m := ReadKeyedMeta(r, Options{Kryo5: kryo5})
		checkFault(t, r.Err())
		if r.Err() == nil {
			for _, s := range m.States {
				DefaultColumns(s)
			}
		}
	})
}

func FuzzOperatorMeta(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := javaio.NewReader("fuzz", 0, b)
		ReadOperatorMeta(r, Options{})
		checkFault(t, r.Err())
	})
}

// FuzzRows decodes arbitrary entries of real states: keys and values that the bytes of an SST could hold.
func FuzzRows(f *testing.F) {
	var schemas []*Schema
	for _, name := range fixtures {
		eachStream(f, name, func(head fixtureLine, entries []fixtureLine) {
			m := head.keyedMeta(f)
			first := map[string]int{}
			for _, s := range m.States {
				first[s.Name] = len(schemas)
				schemas = append(schemas, s)
			}
			for _, e := range entries {
				f.Add(first[e.State], e.Key, e.Value)
			}
		})
	}
	f.Fuzz(func(t *testing.T, i int, key, value []byte) {
		s := schemas[uint(i)%uint(len(schemas))]
		var row Row
		err := s.DecodeKey(&row, key)
		checkFault(t, err)
		if err == nil {
			checkJSON(t, row.Key, row.Namespace, row.MapKey)
		}
		err = s.DecodeValue(&row, value)
		checkFault(t, err)
		if err != nil {
			return
		}
		checkJSON(t, row.Value)
		if len(row.Value) > 1<<20+2000*len(value) {
			t.Fatalf("%d bytes of JSON from %d", len(row.Value), len(value))
		}
	})
}

func checkJSON(t *testing.T, texts ...[]byte) {
	t.Helper()
	for _, text := range texts {
		if text == nil {
			continue
		}
		if !json.Valid(text) {
			t.Fatalf("not JSON: %q", text)
		}
		if end, err := jsonscan.ValueEnd(text, 0); err != nil || end != len(text) {
			t.Fatalf("the scanner ends at %d, %v: %s", end, err, text)
		}
	}
}

// FuzzCodecs reads arbitrary bytes with every codec: Skip ends where AppendJSON does, and a key that can be written again
// gives the same JSON.
func FuzzCodecs(f *testing.F) {
	codecs := []Codec{
		stringCodec, charCodec, float32Codec, float64Codec, bigIntCodec, bigDecCodec, dateCodec, timestampCodec, instantCodec, localDateCodec, localTimeCodec,
		localDateTimeCodec, bytesCodec, primitiveArray(int32Codec), newSequence(List, stringCodec, presentFlag), newSet([]Codec{stringCodec}),
		newMap([]Codec{stringCodec, newList([]Codec{int32Codec})}), newMap([]Codec{int64Codec, stringCodec}), newEither([]Codec{stringCodec, int32Codec}),
		newTuple([]Codec{stringCodec, int64Codec}), newRow([]Codec{stringCodec, int64Codec, boolCodec}, true), &nullableCodec{inner: int64Codec, padding: 8}, point,
		kryoOf(&kryo24, "java.util.ArrayList"), kryoOf(&kryo5, "java.util.ArrayList"), kryoOf(&kryo24, "java.util.TreeMap"), kryoOf(&kryo5, "java.util.UUID"),
	}
	for i := range codecs {
		f.Add(i, []byte("\x00\x00\x00\x02\x02a\x00\x00\x00\x01\x02b"))
		f.Add(i, []byte("\x57\x01\x02\x03\x01\x82k\x02\x02\x03\x03"))
		f.Add(i, []byte("\x03bd\xb0\x03\x80\xbc\x03"))
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		c := codecs[uint(i)%uint(len(codecs))]
		r, s := javaio.NewReader("fuzz", 0, b), javaio.NewReader("fuzz", 0, b)
		text := c.AppendJSON(nil, r)
		checkFault(t, r.Err())
		c.Skip(s)
		checkFault(t, s.Err())
		if r.Err() != nil {
			return
		}
		if s.Err() != nil || s.Len() != r.Len() {
			t.Fatalf("AppendJSON leaves %d bytes, Skip %d: %v", r.Len(), s.Len(), s.Err())
		}
		checkJSON(t, text)
		kc, ok := c.(KeyCodec)
		if !ok {
			return
		}
		key, err := kc.AppendKey(nil, text)
		if err != nil {
			return // years beyond four digits, nulls, Kryo
		}
		again := javaio.NewReader("fuzz", 0, key)
		if got := c.AppendJSON(nil, again); again.Err() != nil || string(got) != string(text) || again.Len() != 0 {
			t.Fatalf("%s written again gives %s, %v", text, got, again.Err())
		}
	})
}
