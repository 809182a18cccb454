package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// A stream builds the head of a stream.
type stream struct{ bytes.Buffer }

func (s *stream) i16(v int) *stream { s.Write(binary.BigEndian.AppendUint16(nil, uint16(v))); return s }
func (s *stream) i32(v int) *stream { s.Write(binary.BigEndian.AppendUint32(nil, uint32(v))); return s }
func (s *stream) utf(t string) *stream {
	s.i16(len(t)).WriteString(t)
	return s
}
func (s *stream) raw(b ...byte) *stream { s.Write(b); return s }

// serializer writes a wrapped snapshot without payload.
func (s *stream) serializer(class string) *stream { return s.i32(2).utf(class).i32(3) }

const (
	longClass   = base + "LongSerializer$LongSerializerSnapshot"
	stringClass = base + "StringSerializer$StringSerializerSnapshot"
	voidClass   = "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"
)

// keyed writes the head of keyed state with one state, whose options and serializers come as pairs.
func keyed(backend int, kind string, serializers ...string) *stream {
	s := new(stream)
	s.i32(6).raw(0).serializer(stringClass).i16(1).utf("s").i32(backend)
	s.i32(1).utf("KEYED_STATE_TYPE").utf(kind).i32(len(serializers) / 2)
	for i := 0; i < len(serializers); i += 2 {
		s.utf(serializers[i]).serializer(serializers[i+1])
	}
	return s
}

func readKeyed(s *stream) (*KeyedMeta, error) {
	r := javaio.NewReader("meta", 0, s.Bytes())
	m := ReadKeyedMeta(r, Options{})
	r.End()
	return m, r.Err()
}

// TestStateV2 reads states of the asynchronous API, which name the element, or the value and the user key, by themselves.
func TestStateV2(t *testing.T) {
	for kind, want := range map[string]string{
		"LIST":  "list s: key string, value int64",
		"MAP":   "map s: key string, map key string, value int64",
		"VALUE": "value s: key string, value int64",
	} {
		m, err := readKeyed(keyed(backendKeyValueV2, kind, "NAMESPACE_SERIALIZER", voidClass, "VALUE_SERIALIZER", longClass, "USER_KEY_SERIALIZER", stringClass))
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(m.States[0]); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// TestUnreadableKinds: a state whose layout is not known is raw, with the reason, and never guessed.
func TestUnreadableKinds(t *testing.T) {
	for kind, want := range map[string]string{
		"LIST":    "list state without a list serializer",
		"MAP":     "map state without a map serializer",
		"UNKNOWN": "a state of kind UNKNOWN",
	} {
		m, err := readKeyed(keyed(backendKeyValue, kind, "NAMESPACE_SERIALIZER", voidClass, "VALUE_SERIALIZER", longClass))
		if err != nil {
			t.Fatal(err)
		}
		var row Row
		if err := m.States[0].DecodeValue(&row, []byte{0, 1}); err != nil || !strings.Contains(string(row.Value), `"$why":"`+want) {
			t.Errorf("%s: %s, %v", kind, row.Value, err)
		}
	}
}

func TestMetaRefuses(t *testing.T) {
	custom := "com.example.MySnapshot"
	for name, c := range map[string]struct {
		s    *stream
		want error
		text string
	}{
		"version":          {new(stream).i32(5).raw(0).serializer(longClass).i16(0), fault.ErrUnsupported, "keyed state of format 5 is not supported"},
		"wrapping":         {new(stream).i32(6).raw(0).i32(1).utf(longClass).i32(3), fault.ErrUnsupported, "wrapping 1 is not supported"},
		"unknown class":    {new(stream).i32(6).raw(0).serializer(custom), fault.ErrUnsupported, "serializer snapshot com.example.MySnapshot is not known, nor where it ends"},
		"snapshot version": {new(stream).i32(6).raw(0).i32(2).utf(longClass).i32(4), fault.ErrUnsupported, "version 4 of " + longClass},
		"states":           {new(stream).i32(6).raw(0).serializer(longClass).i16(9), fault.ErrCorrupt, "9 states do not fit 0 bytes"},
		"negative":         {new(stream).i32(6).raw(0).serializer(longClass).i16(-1), fault.ErrCorrupt, "-1 states"},
		"backend type":     {keyed(9, "VALUE", "VALUE_SERIALIZER", longClass), fault.ErrUnsupported, `state "s": backend type 9`},
		"no value":         {keyed(backendKeyValue, "VALUE", "NAMESPACE_SERIALIZER", voidClass), fault.ErrCorrupt, `state "s" has no VALUE_SERIALIZER`},
		"left over":        {keyed(backendKeyValue, "VALUE", "NAMESPACE_SERIALIZER", voidClass, "VALUE_SERIALIZER", longClass).raw(0), fault.ErrCorrupt, "1 bytes left over"},
		"composite magic":  {new(stream).i32(6).raw(0).serializer(base + "ListSerializerSnapshot").i32(1).i32(1).i32(1), fault.ErrCorrupt, "starts with 0x1"},
		"deep":             {deepList(100), fault.ErrCorrupt, "serializers nest deeper than 64"},
	} {
		if _, err := readKeyed(c.s); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v; want %v with %q", name, err, c.want, c.text)
		}
	}
}

// deepList is a list of a list of a list…
func deepList(n int) *stream {
	s := new(stream)
	s.i32(6).raw(0).i32(2)
	for range n {
		s.utf(base + "ListSerializerSnapshot").i32(3).i32(compositeMagic).i32(1).i32(nestedMagic).i32(1).i32(1)
	}
	return s.utf(longClass).i32(3)
}

// TestEveryCut reads all prefixes of a real head: each is truncated, and none panics.
func TestEveryCut(t *testing.T) {
	eachStream(t, "customers-1.20", func(head fixtureLine, _ []fixtureLine) {
		for n := range head.Meta {
			r := javaio.NewReader("cut", 0, head.Meta[:n])
			ReadKeyedMeta(r, Options{})
			if !errors.Is(r.Err(), fault.ErrCorrupt) {
				t.Fatalf("cut at %d: %v", n, r.Err())
			}
		}
	})
}

func TestOperatorStream(t *testing.T) {
	var got []string
	eachStream(t, "operator-2.3", func(head fixtureLine, _ []fixtureLine) {
		r := javaio.NewReader("operator", 0, head.Meta)
		m := ReadOperatorMeta(r, Options{Kryo5: true})
		if r.End(); r.Err() != nil {
			t.Fatal(r.Err())
		}
		for _, s := range append(m.Operator, m.Broadcast...) {
			line := fmt.Sprintf("%s %s: %s", s.Kind, s.Name, s.Value.Type())
			if s.MapKey != nil {
				line += " by " + s.MapKey.Type().String()
			}
			got = append(got, line)
		}
	})
	golden(t, "operator-2.3", strings.Join(got, "\n")+"\n")
}

// TestUnknownFieldSerializer: a snapshot class that is not known costs only the field whose frame holds it.
func TestUnknownFieldSerializer(t *testing.T) {
	frame := new(stream)
	frame.utf("com.example.MySnapshot").i32(1).raw(1, 2, 3)
	s := new(stream)
	s.i32(6).raw(0).i32(2).utf(runtime + "PojoSerializerSnapshot").i32(2).utf("P")
	for _, n := range []int{1, 0, 0} {
		s.raw(0, 0, 4, 0xF2, 0xC6, 0x9A, 0x3D, 0x70).i32(n)
		if n == 1 {
			s.utf("field").raw(0).raw(1).i32(frame.Len()).raw(frame.Bytes()...)
		}
	}
	s.i16(0)
	m, err := readKeyed(s)
	if err != nil {
		t.Fatal(err)
	}
	f := m.Key.Type().Fields[0].Type
	if f.Kind != Raw || f.Class != "com.example.MySnapshot" || !strings.Contains(f.Why, "not known") {
		t.Errorf("%+v", f)
	}
	if _, err := decode(t, m.Key, []byte{pojoExact, 1}); err != nil {
		t.Errorf("a null field needs no serializer: %v", err)
	}
}

// TestScala reads a case class and an Option. The hashCode of a case class is not that of a tuple.
func TestScala(t *testing.T) {
	s := new(stream)
	s.i32(6).raw(0).i32(2).utf(scala + "ScalaCaseClassSerializerSnapshot").i32(3).i32(compositeMagic).i32(2).utf("my.Case")
	s.i32(nestedMagic).i32(1).i32(2).utf(longClass).i32(3)
	s.utf(scala + "ScalaOptionSerializerSnapshot").i32(3).i32(compositeMagic).i32(2).i32(nestedMagic).i32(1).i32(1).utf(longClass).i32(3)
	m, err := readKeyed(s.i16(0))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(t, m.Key, unhex(t, "0000000000000005 00")); err != nil || got != "[5,null]" {
		t.Error(got, err)
	}
	if _, ok := m.Key.(KeyCodec).HashCode([]byte("[5,null]")); ok {
		t.Error("the hashCode of a case class is not known")
	}
}
