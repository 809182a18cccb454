package state

import (
	"testing"

	"github.com/statebridge/statebridge/state/javaio"
)

// six is a POJO of six fields, and one value of it.
func six() (*Schema, []byte, []byte) {
	c := object("Account", "active", boolCodec, "age", int32Codec, "balance", int64Codec, "email", stringCodec, "name", stringCodec, "score", float64Codec)
	s := &Schema{Name: "account", Kind: KindValue, Key: stringCodec, Namespace: voidNamespaceCodec, Value: c, MaxParallelism: 128}
	value := []byte{pojoExact, 0, 1, 0, 0, 0, 0, 42, 0, 0, 0, 0, 0, 0, 7, 91, 205, 0}
	value = append(encodeFlinkString(value, []byte("somebody@example.org")), 0)
	value = append(encodeFlinkString(value, []byte("Somebody Special")), 0)
	value = append(value, 0x40, 0x5E, 0xDD, 0x2F, 0x1A, 0x9F, 0xBE, 0x77)
	key, _ := stringCodec.AppendKey(nil, []byte(`"account-0000001"`))
	return s, s.AppendKey(nil, 17, key, []byte{0}, nil), value
}

func BenchmarkDecodeRow(b *testing.B) {
	s, key, value := six()
	var row Row
	b.ReportAllocs()
	b.SetBytes(int64(len(key) + len(value)))
	for b.Loop() {
		if s.DecodeKey(&row, key) != nil || s.DecodeValue(&row, value) != nil {
			b.Fatal("does not decode")
		}
	}
}

func BenchmarkProject(b *testing.B) {
	s, key, value := six()
	var row Row
	if s.DecodeKey(&row, key) != nil || s.DecodeValue(&row, value) != nil {
		b.Fatal("does not decode")
	}
	p := NewProjection(DefaultColumns(s))
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = p.AppendRow(dst[:0], &row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSkip(b *testing.B) {
	s, _, value := six()
	var r javaio.Reader
	b.ReportAllocs()
	for b.Loop() {
		r.Reset("", 0, value)
		s.Value.Skip(&r)
	}
}

func BenchmarkSQLRow(b *testing.B) {
	benchmarkJSON(b, &sqlCodec{everyRow}, unhex(b, squeeze(everyRowBytes)))
}

func BenchmarkKryoList(b *testing.B) {
	benchmarkJSON(b, kryoOf(&kryo24, "java.util.ArrayList"), []byte("\x57\x01\x03\x03\x01\x82x\x03\x01yy\xf9\x02\x0e"))
}

// benchmarkJSON decodes one value again and again.
func benchmarkJSON(b *testing.B, c Codec, value []byte) {
	b.Helper()
	var r javaio.Reader
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		r.Reset("", 0, value)
		dst = c.AppendJSON(dst[:0], &r)
	}
	if r.Err() != nil {
		b.Fatal(r.Err())
	}
}

// TestNoAllocations: decoding and projecting a row allocates nothing once the buffers have grown.
func TestNoAllocations(t *testing.T) {
	s, key, value := six()
	p := NewProjection(DefaultColumns(s))
	var row Row
	var dst []byte
	allocs := testing.AllocsPerRun(100, func() {
		if s.DecodeKey(&row, key) != nil || s.DecodeValue(&row, value) != nil {
			t.Fatal("does not decode")
		}
		dst, _ = p.AppendRow(dst[:0], &row)
	})
	if allocs > 0 {
		t.Errorf("%v allocations a row", allocs)
	}
}
