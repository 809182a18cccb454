package javaobj

import (
	"errors"
	"strings"
	"testing"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// point is what ObjectOutputStream writes for a class a.P {int x; String s; a.E e} with x = 7, s = "hi" and an enum
// constant RED.
const point = "\xAC\xED\x00\x05\x73\x72\x00\x03a.P\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x03" +
	"I\x00\x01x" +
	"L\x00\x01e\x74\x00\x05La/E;" +
	"L\x00\x01s\x74\x00\x12Ljava/lang/String;" +
	"\x78\x70" +
	"\x00\x00\x00\x07" +
	"\x7E\x72\x00\x03a.E\x00\x00\x00\x00\x00\x00\x00\x00\x12\x00\x00\x78" +
	"\x72\x00\x0Ejava.lang.Enum\x00\x00\x00\x00\x00\x00\x00\x00\x12\x00\x00\x78\x70\x74\x00\x03RED" +
	"\x74\x00\x02hi"

func parse(s string) (Value, *javaio.Reader) {
	r := javaio.NewReader("test", 0, []byte(s))
	return Parse(r), r
}

func TestParseObject(t *testing.T) {
	v, r := parse(point + "tail")
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if string(r.Rest()) != "tail" {
		t.Fatalf("stopped before %q", r.Rest())
	}
	o := v.(*Object)
	if x, ok := o.Int("x"); !ok || x != 7 {
		t.Errorf("x = %d", x)
	}
	if o.String("s") != "hi" || o.Enum("e") != "RED" || !o.IsA("a.P") || o.IsA("a.Q") {
		t.Errorf("s = %q, e = %q, class %s", o.String("s"), o.Enum("e"), o.ClassName())
	}
	if _, ok := o.Field("none"); ok {
		t.Error("a field that is not there")
	}
}

func TestParseArrayList(t *testing.T) {
	v, r := parse("\xAC\xED\x00\x05\x73\x72\x00\x13java.util.ArrayListxxxxxxxx\x03\x00\x01I\x00\x04size\x78\x70" +
		"\x00\x00\x00\x03\x77\x04\x00\x00\x00\x03" +
		"\x74\x00\x01a" + "\x71\x00\x7E\x00\x02" + "\x70" + "\x78")
	r.End()
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	es, ok := Elements(v)
	if !ok || len(es) != 3 || es[0] != "a" || es[1] != "a" || es[2] != nil {
		t.Fatalf("elements = %v", es)
	}
}

func TestParseArrays(t *testing.T) {
	v, r := parse("\xAC\xED\x00\x05\x75\x72\x00\x02[Ixxxxxxxx\x02\x00\x00\x78\x70\x00\x00\x00\x01\x00\x00\x00\x2A")
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if a := v.(*Array); a.Len != 1 || string(a.Raw) != "\x00\x00\x00\x2A" {
		t.Errorf("array = %+v", a)
	}
}

// TestParseCut cuts a good stream at every byte: each cut is named as such.
func TestParseCut(t *testing.T) {
	for n := range len(point) {
		if v, r := parse(point[:n]); !errors.Is(r.Err(), fault.ErrTruncated) || v != nil {
			t.Errorf("cut at %d: %v, %v", n, v, r.Err())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "\xAC\xED\x00\x05"
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"no stream":               {"\xAC\xED\x00\x06\x70", fault.ErrCorrupt},
		"unknown tag":             {head + "\x60", fault.ErrCorrupt},
		"reference to nothing":    {head + "\x71\x00\x7E\x00\x00", fault.ErrCorrupt},
		"exception":               {head + "\x7B", fault.ErrUnsupported},
		"object of no class":      {head + "\x73\x70", fault.ErrCorrupt},
		"class is a string":       {head + "\x73\x74\x00\x00", fault.ErrCorrupt},
		"huge array":              {head + "\x75\x72\x00\x02[Bxxxxxxxx\x02\x00\x00\x78\x70\x7F\xFF\xFF\xFF", fault.ErrCorrupt},
		"extends itself":          {head + "\x73\x72\x00\x01axxxxxxxx\x02\x00\x00\x78\x71\x00\x7E\x00\x00", fault.ErrCorrupt},
		"nested without end":      {head + strings.Repeat("\x75\x72\x00\x02[Lxxxxxxxx\x02\x00\x00\x78\x70\x00\x00\x00\x01", 1000), fault.ErrCorrupt},
		"externalizable, version": {head + "\x73\x72\x00\x01axxxxxxxx\x04\x00\x00\x78\x70", fault.ErrUnsupported},
	} {
		if _, r := parse(c.in); !errors.Is(r.Err(), c.want) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(point))
	f.Add([]byte("\xAC\xED\x00\x05\x7D\x00\x00\x00\x01\x00\x01a\x78\x70"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := javaio.NewReader("fuzz", 0, b)
		v := Parse(r)
		if err := r.Err(); err != nil {
			if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		Elements(v)
	})
}
