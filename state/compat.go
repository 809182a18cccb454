package state

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Verdict says whether a job that has one schema can be restored from a snapshot with another.
type Verdict int

// The verdicts, by severity.
const (
	Compatible     Verdict = iota // the bytes can stay as they are
	NeedsMigration                // Flink rewrites every value at the restore
	Incompatible                  // Flink refuses the restore
)

func (v Verdict) String() string {
	return [...]string{"compatible", "needs migration", "incompatible"}[v]
}

// MarshalText gives the verdict as it is printed.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Difference is one thing that differs between two schemas of a state.
type Difference struct {
	What   string  `json:"what"`           // "field added", "type changed", …
	Path   Path    `json:"path,omitempty"` // of a row
	Before string  `json:"before,omitempty"`
	After  string  `json:"after,omitempty"`
	Effect Verdict `json:"effect"`
	Why    string  `json:"why,omitempty"` // what the effect depends on
}

// Compare lists what differs between the schemas that a state has in an older and a newer snapshot, each with what Flink makes of it. Flink's
// rules are those of its serializer snapshots: POJOs may gain and lose fields, Avro schemas resolve as the specification says, enums may gain
// constants, and anything else has to stay as it is; keys, namespaces and the keys of map states may not need a migration.
func Compare(a, b *Schema) []Difference {
	c := &comparer{}
	if a.Kind != b.Kind {
		c.add(Difference{What: "kind changed", Before: string(a.Kind), After: string(b.Kind), Effect: Incompatible})
		return c.differences
	}
	c.rigid(pathKey, a.Key, b.Key)
	c.rigid(pathNamespace, a.Namespace, b.Namespace)
	if a.Kind == KindBroadcast {
		c.codecs(pathMapKey, a.MapKey, b.MapKey)
	} else {
		c.rigid(pathMapKey, a.MapKey, b.MapKey)
	}
	c.codecs(pathValue, a.Value, b.Value)
	return c.differences
}

// Worst is the verdict on all differences together.
func Worst(differences []Difference) Verdict {
	worst := Compatible
	for _, d := range differences {
		worst = max(worst, d.Effect)
	}
	return worst
}

type comparer struct{ differences []Difference }

func (c *comparer) add(d Difference) { c.differences = append(c.differences, d) }

func (c *comparer) changed(path Path, a, b Codec, what string) {
	c.add(Difference{What: what, Path: path, Before: a.Type().String(), After: b.Type().String(), Effect: Incompatible})
}

// rigid compares serializers for which Flink has no migration.
func (c *comparer) rigid(path Path, a, b Codec) {
	from := len(c.differences)
	c.codecs(path, a, b)
	for i := range c.differences[from:] {
		if d := &c.differences[from+i]; d.Effect == NeedsMigration {
			d.Effect, d.Why = Incompatible, "a "+string(path)+" cannot be migrated"
		}
	}
}

// plainCodec takes off what is only there for reading.
func plainCodec(c Codec) Codec {
	switch w := c.(type) {
	case typed:
		return plainCodec(w.Codec)
	case hintedCodec:
		return w.raw
	}
	return c
}

func (c *comparer) codecs(path Path, a, b Codec) {
	a, b = plainCodec(a), plainCodec(b)
	switch {
	case a == nil && b == nil:
		return
	case a == nil || b == nil:
		c.add(Difference{What: "serializer changed", Path: path, Effect: Incompatible})
		return
	case reflect.TypeOf(a) != reflect.TypeOf(b):
		c.otherSerializer(path, a, b)
		return
	}
	switch a := a.(type) {
	case *objectCodec:
		c.objects(path, a, b.(*objectCodec))
	case *avroRoot:
		c.avro(path, a, b.(*avroRoot))
	case *enumCodec:
		c.enums(path, a, b.(*enumCodec))
	case *kryoCodec:
		c.kryo(path, a, b.(*kryoCodec))
	case *tupleCodec:
		c.positional(path, a, a.fields, b, b.(*tupleCodec).fields)
	case *rowCodec:
		c.positional(path, a, a.fields, b, b.(*rowCodec).fields)
	default:
		if !c.wrapped(path, a, b) {
			c.opaque(path, a, b)
		}
	}
}

// A state's TTL can be turned on and off since Flink 2: its snapshots of serializers know of each other. In Flink 1 they are two serializers like any others.
const ttlEnabled, ttlDisabled = "TTL enabled", "TTL disabled"

// RefuseTTL makes the differences what they are to a job of Flink 1.
func RefuseTTL(differences []Difference) {
	for i := range differences {
		if d := &differences[i]; d.What == ttlEnabled || d.What == ttlDisabled {
			d.Effect, d.Why = Incompatible, "Flink 2 would migrate it"
		}
	}
}

// otherSerializer: of two families of serializers neither reads the other's bytes.
func (c *comparer) otherSerializer(path Path, a, b Codec) {
	_, before := a.(*ttlCodec)
	_, after := b.(*ttlCodec)
	switch {
	case after && !before:
		c.add(Difference{What: ttlEnabled, Path: path, Effect: NeedsMigration, Why: "Flink before version 2 refuses it"})
		c.codecs(path, a, b.(*ttlCodec).inner)
	case before && !after:
		c.add(Difference{What: ttlDisabled, Path: path, Effect: NeedsMigration, Why: "Flink before version 2 refuses it"})
		c.codecs(path, a.(*ttlCodec).inner, b)
	default:
		c.changed(path, a, b, "serializer changed")
	}
}

// wrapped compares what stands inside a serializer that has no say of its own.
func (c *comparer) wrapped(path Path, a, b Codec) bool {
	switch a := a.(type) {
	case *ttlCodec:
		c.codecs(path, a.inner, b.(*ttlCodec).inner)
	case *listCodec:
		if b := b.(*listCodec); a.typ.Kind != b.typ.Kind || a.flag != b.flag {
			c.changed(path, a, b, "serializer changed")
			return true
		}
		c.codecs(path+"[]", a.elem, b.(*listCodec).elem)
	case *mapCodec:
		c.codecs(path+".keys", a.key, b.(*mapCodec).key)
		c.codecs(path+".values", a.value, b.(*mapCodec).value)
	case *nullableCodec:
		if b := b.(*nullableCodec); a.padding != b.padding {
			c.changed(path, a, b, "serializer changed")
			return true
		}
		c.codecs(path, a.inner, b.(*nullableCodec).inner)
	case *optionCodec:
		c.codecs(path, a.inner, b.(*optionCodec).inner)
	case *eitherCodec:
		c.codecs(path+".left", a.left, b.(*eitherCodec).left)
		c.codecs(path+".right", a.right, b.(*eitherCodec).right)
	default:
		return false
	}
	return true
}

// positional compares fields that have positions and no names.
func (c *comparer) positional(path Path, a Codec, fa []Codec, b Codec, fb []Codec) {
	if len(fa) != len(fb) {
		c.add(Difference{What: "number of fields changed", Path: path, Before: a.Type().String(), After: b.Type().String(), Effect: Incompatible})
		return
	}
	for i := range fa {
		c.codecs(Path(fmt.Sprintf("%s.f%d", path, i)), fa[i], fb[i])
	}
}

// opaque compares serializers of which no more is known than what they give.
func (c *comparer) opaque(path Path, a, b Codec) {
	ta, tb := a.Type(), b.Type()
	same := a == b || a.FixedLen() == b.FixedLen() && reflect.DeepEqual(ta, tb)
	if s, ok := a.(*sqlCodec); ok { // whose type does not show lengths and precisions
		same = reflect.DeepEqual(s.t, b.(*sqlCodec).t)
	}
	switch {
	case ta.Kind == Raw && tb.Kind == Raw && ta.Class == tb.Class:
		c.add(Difference{What: "not compared", Path: path, Before: ta.Class, Effect: Compatible, Why: "only the class itself knows its layout"})
	case same:
	case widens(ta.Kind, tb.Kind):
		c.changed(path, a, b, "widened")
	default:
		c.changed(path, a, b, "type changed")
	}
}

// widens says whether every value of a is one of b; Flink's serializers refuse it all the same, Avro's does not.
func widens(a, b TypeKind) bool {
	integers := []TypeKind{Int8, Int16, Int32, Int64}
	i, j := slices.Index(integers, a), slices.Index(integers, b)
	return i >= 0 && j > i || a == Float32 && b == Float64
}

func (c *comparer) enums(path Path, a, b *enumCodec) {
	if a.typ.Class != b.typ.Class {
		c.changed(path, a, b, "class changed")
		return
	}
	c.symbols(path, a.typ.Symbols, b.typ.Symbols, func(string) Verdict { return Incompatible })
}

// symbols compares constants, whose order is free: their numbers in the bytes stay those of the snapshot.
func (c *comparer) symbols(path Path, a, b []string, removed func(string) Verdict) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			c.add(Difference{What: "constant removed", Path: path, Before: s, Effect: removed(s)})
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			c.add(Difference{What: "constant added", Path: path, After: s})
		}
	}
	if kept := common(a, b); !slices.Equal(kept, common(b, a)) {
		c.add(Difference{What: "constants reordered", Path: path, Before: strings.Join(kept, ", "), After: strings.Join(common(b, a), ", ")})
	}
}

// common is what is in both, in the order of a.
func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func (c *comparer) kryo(path Path, a, b *kryoCodec) {
	if a.version != b.version {
		c.add(Difference{What: "serializer changed", Path: path, Before: a.version.String(), After: b.version.String(), Effect: Incompatible, Why: "neither reads what the other wrote"})
		return
	}
	if a.typ.Class != b.typ.Class {
		c.changed(path, a, b, "class changed")
		return
	}
	before, after := a.classNames(), b.classNames()
	for _, name := range before {
		if !slices.Contains(after, name) {
			c.add(Difference{What: "Kryo registration removed", Path: path, Before: name, Effect: Incompatible})
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			c.add(Difference{What: "Kryo registration added", Path: path, After: name})
		}
	}
}

func (c *kryoCodec) classNames() []string {
	var names []string
	for _, t := range c.ids[min(firstFlinkID+len(flinkKryo), len(c.ids)):] {
		if t != nil {
			names = append(names, t.name)
		}
	}
	return names
}
