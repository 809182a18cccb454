package state

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// kryoOf makes the codec of a declared class, which has the first id of its own: 0x57 in the bytes.
func kryoOf(version *kryoVersion, class string) *kryoCodec {
	c := &kryoCodec{version: version}
	c.typ = c.declared(class)
	c.ids = append(c.ids, version.ids...)
	for _, t := range c.ids {
		if t != nil && t.name == class {
			return c
		}
	}
	c.ids = append(c.ids, version.byName(class))
	return c
}

func hexOf(s string) string { return hex.EncodeToString([]byte(s)) }

// named writes a class by name: its last character has bit 7 set.
func named(class string) string {
	b := []byte(class)
	b[len(b)-1] |= 0x80
	return "0100" + hex.EncodeToString(b)
}

func TestKryoValues(t *testing.T) {
	const object = "java.lang.Object"
	long35 := strings.Repeat("a", 35)
	for _, c := range []struct {
		class, v2, v5, out string // v5 "" where both are the same
	}{
		{object, "00", "", "null"},
		{object, "02 d804", "", "300"},
		{object, "03 01 6162e3", "", `"abc"`},
		{object, "09 03", "", "-2"},
		{object, "03 01" + hexOf(long35[1:]) + "e1", "03 01 a4" + hexOf(long35), `"` + long35 + `"`},
		{object, "03 01 80", "", "null"}, {object, "03 01 81", "", `""`},
		{object, "03 01 83 c3a9 78", "", `"éx"`}, {object, "03 01 83 eda0bd edba80", "", `"🚀"`},
		{object, "04 3f800000", "04 0000803f", "1.0"}, {object, "0a 3ff0000000000000", "0a 000000000000f03f", "1.0"},
		{object, "05 01", "", "true"}, {object, "06 ff", "", "-1"}, {object, "07 0061", "07 6100", `"a"`}, {object, "08 fffe", "08 feff", "-2"},
		{object, "09 ffffffffffffffffff", "", "-9223372036854775808"},
		{"java.util.UUID", "54 01 02 04", "54 01 0100000000000000 0200000000000000", `"00000000-0000-0001-0000-000000000002"`},
		{"java.util.ArrayList", "57 01 04 03018278 030179f9 020e 00", "57 01 05 03018278 030179f9 020e 00", `["x","yy",7,null]`},
		{"java.util.ArrayList", "57 01 02 03018278 0303", "57 01 83 03 00 018278 03", `["x","x"]`}, // a shared string
		{"java.util.ArrayList", "57 01 00", "57 01 01", "[]"}, {"java.util.ArrayList", "57 01 02 00 00", "57 01 83 00", "[null,null]"},
		{object, named("java.util.HashSet") + "01 01 0202", named("java.util.HashSet") + "01 82 02 00 02", "[1]"},
		{object, named("java.util.HashSet") + "01 02 0204 0202", named("java.util.HashSet") + "01 83 02 00 04 02", "[1,2]"},
		{"java.util.LinkedHashMap", "57 01 02 0301826b 0202 03016bb2 0303", "57 01 03 0301826b 0202 03016bb2 0303", `{"k":1,"k2":"k"}`},
		{"java.util.HashMap", "57 01 01 0300 0202", "57 01 02 0300 0202", "[[null,1]]"}, // a null, where a String was declared
		{"java.util.TreeMap", "57 01 00 02 0301826b 0202 03016bb2 0303", "57 01 03 00 0301826b 0202 03016bb2 0303", `{"k":1,"k2":"k"}`},
		{"java.util.HashMap", "57 01 02 0202 00 0204 0206", "57 01 03 0202 00 0204 0206", "[[1,null],[2,3]]"}, {"java.util.HashMap", "57 01 00", "57 01 01", "{}"},
		{"java.time.LocalDate", "57 01 001d 0002 d01f", "57 01 e80f 02 1d", `"2024-02-29"`},
		{"java.time.LocalTime", "57 01 0a 0f 00 00", "57 01 0a f0", `"10:15:00"`}, {"java.time.LocalTime", "57 01 17 3b fea7d6b907 3b", "57 01 17 3b 3b ff93ebdc03", `"23:59:59.999999999"`},
		{"java.time.Instant", "57 01 0a 03", "57 01 feffffffffffffffff 05", `"1969-12-31T23:59:58.000000005Z"`},
		{"java.sql.Timestamp", "51 01 d209 809dca6f", "51 01 e807 809dca6f", `"1970-01-01T00:00:01.234Z"`},
		{"java.util.Date", "57 01 7b", "", `"1970-01-01T00:00:00.123Z"`},
		{"java.math.BigDecimal", "57 01 03 04d2 04", "", `"12.34"`}, {"java.math.BigInteger", "57 01 02 ff", "", `"-1"`},
		{"[I", "57 01 03 02 01", "", "[1,-1]"}, {"[J", "57 01 02 01", "", "[-1]"}, {"[B", "57 01 03 ff00", "", `"/wA="`}, {"[D", "57 01 02 3ff0000000000000", "57 01 02 000000000000f03f", "[1.0]"},
		{"[Ljava.lang.String;", "57 01 04 018278 00 03", "", `["x",null,"x"]`}, {"[Ljava.lang.Integer;", "57 01 03 0102 00", "", "[1,null]"},
		{"[Ljava.lang.Object;", "57 01 03 0202 00", "", "[1,null]"},
		{object, named("java.util.Collections$SingletonList") + "01 0202", "", "[1]"}, {object, named("java.util.Collections$EmptyMap") + "01", "", "{}"},
		{object, named("java.util.ImmutableCollections$ListN") + "01 03 0202 0204 0206", named("java.util.ImmutableCollections$ListN") + "01 84 02 02 04 06", "[1,2,3]"}, // which has no nulls
		{object, named("java.util.ImmutableCollections$SetN") + "01 02 0204 0202", named("java.util.ImmutableCollections$SetN") + "01 83 02 04 02", "[1,2]"},
		{object, named("java.util.concurrent.TimeUnit") + "01 04", named("java.util.concurrent.TimeUnit") + "04", `"SECONDS"`}, // an enum has no mark in Kryo 5
		{object, "4b 01 01 02 0202", "4b 01 82 02 00 02", "[1]"},    // Arrays.asList: the class of its array first
		{object, "4d 01 00 01 0202", "4d 01 82 00 02 00 02", "[1]"}, // PriorityQueue
	} {
		for i, text := range []string{c.v2, c.v5} {
			version := []*kryoVersion{&kryo24, &kryo5}[i]
			if text == "" {
				text = c.v2
			}
			if got, err := decode(t, kryoOf(version, c.class), unhex(t, text)); err != nil || got != c.out {
				t.Errorf("Kryo %v, %s, %s: %s, %v; want %s", []string{"2.24", "5.6"}[i], c.class, text, got, err, c.out)
			}
		}
	}
}

func TestKryoRefuses(t *testing.T) {
	deep := "57 01" + strings.Repeat("01 57 01", 300) + "00"
	for _, c := range []struct {
		class, hex string
		want       error
		text       string
	}{
		{"java.util.ArrayList", "57 01 01 57 02", fault.ErrUnsupported, "an object that holds itself"},
		{"java.util.ArrayList", "57 01 01 57 09", fault.ErrCorrupt, "reference to object 7 of 1"},
		{"java.util.ArrayList", "57 01 ffffffff0f", fault.ErrCorrupt, "count 4294967295 does not fit 0 bytes"},
		{"java.util.ArrayList", deep, fault.ErrCorrupt, "nest deeper than 200"},
		{"java.lang.Object", "ff7f", fault.ErrUnsupported, "Kryo class id 16381 is not in the snapshot"},
		{"java.lang.Object", "01 05 81", fault.ErrCorrupt, "class name 5 after 0 names"},
		{"java.lang.Object", named("com.example.Bean") + "01 00", fault.ErrUnsupported, "Kryo class com.example.Bean: its fields are not in the snapshot"},
		{"java.lang.Object", named("com.example.Enum") + "04", fault.ErrUnsupported, "its fields are not in the snapshot"}, // no reference to object 2
		{"java.lang.Object", named("java.time.Month") + "01 0d", fault.ErrCorrupt, "constant 12 of java.time.Month"},
		{"com.example.Bean", "57 01 00", fault.ErrUnsupported, "its fields are not in the snapshot"},
	} {
		_, err := decode(t, kryoOf(&kryo24, c.class), unhex(t, c.hex))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s, %.40s: %v; want %v with %q", c.class, c.hex, err, c.want, c.text)
		}
	}
}

// TestKryoReferencesAreBounded reads a list that doubles 60 times by references: it must end with an error, soon.
func TestKryoReferencesAreBounded(t *testing.T) {
	const level = "57 01 02" // an ArrayList of two
	b := unhex(t, strings.Repeat(level, 60)+"0202 0202")
	for i := 59; i > 0; i-- { // the second element of list i-1 is list i
		b = append(b, 0x57, byte(i+2))
	}
	_, err := decode(t, kryoOf(&kryo24, "java.util.ArrayList"), b)
	if !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), "references that expand") {
		t.Fatal(err)
	}
}

// TestKryoDefaultSerializers: what a serializer of the job's wrote is not taken for what Kryo's own would have.
func TestKryoDefaultSerializers(t *testing.T) {
	const object = "java.lang.Object"
	for replaced, names := range map[string][2][]string{ // read, not read
		"java.util.Collection": {{"java.lang.Integer", "java.util.HashMap"}, {"java.util.ArrayList", "java.util.HashSet"}},
		"java.util.HashMap":    {{"java.util.LinkedHashMap", "java.util.ArrayList"}, {"java.util.HashMap"}},
		object:                 {{}, {"java.lang.Integer", "java.util.ArrayList"}},
	} {
		c := kryoOf(&kryo24, object)
		c.replaced = []string{replaced}
		for i, list := range names {
			for _, name := range list {
				if known := c.own(c.version.byName(name)).read != nil; known != (i == 0) {
					t.Errorf("with a default serializer for %s, %s is read: %v", replaced, name, known)
				}
			}
		}
	}
}

// TestKryoSkip steps over a value that holds references, without following them.
func TestKryoSkip(t *testing.T) {
	r := javaio.NewReader("test", 0, unhex(t, "57 01 02 03018278 0303 ff"))
	kryoOf(&kryo24, "java.util.ArrayList").Skip(r)
	if r.Err() != nil || r.Len() != 1 {
		t.Fatal(r.Err(), r.Len())
	}
}

// TestDurations prints as Duration.toString does.
func TestDurations(t *testing.T) {
	for want, d := range map[string]struct {
		seconds int64
		nanos   int
	}{
		`"PT0S"`: {}, `"PT1M30.000000005S"`: {90, 5}, `"PT-0.5S"`: {-1, 500000000}, `"PT-1H-0.5S"`: {-3601, 500000000}, `"PT-1.5S"`: {-2, 500000000},
		`"PT25H"`: {90000, 0}, `"PT-1M"`: {-60, 0}, `"PT0.000000001S"`: {0, 1},
	} {
		if got := string(appendDuration(nil, d.seconds, d.nanos)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
