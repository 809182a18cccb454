package state

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// maxMessageDepth bounds how deep messages nest.
const maxMessageDepth = 100

// A messagePrinter prints messages like POJOs: every field under the name that the .proto file gives it; one that is absent is null where
// its presence is known, else its default. Integers of 64 bits are numbers, as everywhere in state.
type messagePrinter struct {
	unmarshal proto.UnmarshalOptions
	json      protojson.MarshalOptions
	desc      protoreflect.MessageDescriptor
}

// protobufDecoder makes the decoder of a message from a FileDescriptorSet that holds all imports.
func protobufDecoder(set []byte, message string) (*Type, func(dst, b []byte) ([]byte, error), error) {
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &files); err != nil {
		return nil, nil, errors.New("the file is no descriptor set; protoc --include_imports --descriptor_set_out=FILE writes one")
	}
	registry, err := protodesc.NewFiles(&files)
	if err != nil {
		return nil, nil, fmt.Errorf("descriptor set: %w", err)
	}
	d, err := registry.FindDescriptorByName(protoreflect.FullName(message))
	desc, ok := d.(protoreflect.MessageDescriptor)
	if err != nil || !ok {
		return nil, nil, fmt.Errorf("the descriptor set has no message %s; it has %s", message, messageNames(registry))
	}
	known := dynamicpb.NewTypes(registry)
	p := &messagePrinter{
		unmarshal: proto.UnmarshalOptions{Resolver: known, RecursionLimit: maxMessageDepth},
		json:      protojson.MarshalOptions{UseProtoNames: true, Resolver: known}, desc: desc,
	}
	types := messageTypes{open: map[protoreflect.FullName]bool{}}
	return types.message(desc), p.decode, nil
}

// messageNames lists the messages that there are, as far as a line can hold them.
func messageNames(files *protoregistry.Files) string {
	var names []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			names = append(names, string(f.Messages().Get(i).FullName()))
		}
		return len(names) < maxNamed
	})
	slices.Sort(names)
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "…")
	}
	return strings.Join(names, ", ")
}

const maxNamed = 20

func (p *messagePrinter) decode(dst, b []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(p.desc)
	if err := p.unmarshal.Unmarshal(b, m); err != nil {
		return dst, fmt.Errorf("not a %s", p.desc.FullName()) // the library's text differs from run to run
	}
	return p.message(dst, m)
}

// wellKnown are messages with a JSON form of their own, which is not that of their fields.
var wellKnown = map[protoreflect.FullName]TypeKind{
	"google.protobuf.Timestamp": Instant, "google.protobuf.Duration": String, "google.protobuf.FieldMask": String,
	"google.protobuf.Struct": Any, "google.protobuf.Value": Any, "google.protobuf.ListValue": Any, "google.protobuf.Any": Any,
}

func (p *messagePrinter) message(dst []byte, m protoreflect.Message) ([]byte, error) {
	d := m.Descriptor()
	if len(dst) > maxJSON {
		return dst, fmt.Errorf("longer than %d bytes of JSON", maxJSON)
	}
	if len(m.GetUnknown()) > 0 {
		return dst, fmt.Errorf("a %s has fields that its descriptor lacks", d.FullName())
	}
	switch kind, known := wellKnown[d.FullName()]; {
	case kind == Instant:
		return p.timestamp(dst, m)
	case known:
		b, err := p.json.Marshal(m.Interface())
		if err != nil {
			return dst, fmt.Errorf("%s has no JSON form", d.FullName())
		}
		return appendCanonical(dst, b)
	}
	fields := d.Fields()
	b := newBag(dst)
	for i := range fields.Len() {
		f := fields.Get(i)
		dst = appendQuoted(dst, string(f.Name()))
		b.key(dst)
		var err error
		if dst, err = p.field(dst, m, f); err != nil {
			return dst, err
		}
		dst = b.value(dst)
	}
	return b.finish(dst, objectShape), nil
}

func (p *messagePrinter) timestamp(dst []byte, m protoreflect.Message) ([]byte, error) {
	fields := m.Descriptor().Fields()
	sec, nanos := fields.ByName("seconds"), fields.ByName("nanos")
	if sec == nil || nanos == nil || sec.Kind() != protoreflect.Int64Kind || nanos.Kind() != protoreflect.Int32Kind {
		return dst, errors.New("google.protobuf.Timestamp has other fields than it should")
	}
	n := m.Get(nanos).Int()
	if n < 0 || n >= 1e9 {
		return dst, fmt.Errorf("a timestamp with %d nanoseconds", n)
	}
	return appendInstant(dst, m.Get(sec).Int(), int32(n)), nil
}

func (p *messagePrinter) field(dst []byte, m protoreflect.Message, f protoreflect.FieldDescriptor) ([]byte, error) {
	switch {
	case f.IsMap():
		return p.mapping(dst, f, m.Get(f).Map())
	case f.IsList():
		return p.list(dst, f, m.Get(f).List())
	case f.HasPresence() && !m.Has(f):
		return appendNull(dst), nil
	}
	return p.value(dst, f, m.Get(f))
}

func (p *messagePrinter) list(dst []byte, f protoreflect.FieldDescriptor, l protoreflect.List) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range l.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = p.value(dst, f, l.Get(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// mapping prints a map with keys of strings as an object, any other as pairs.
func (p *messagePrinter) mapping(dst []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) (_ []byte, err error) {
	b := newBag(dst)
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if dst, err = p.value(dst, f.MapKey(), k.Value()); err != nil {
			return false
		}
		b.key(dst)
		dst, err = p.value(dst, f.MapValue(), v)
		dst = b.value(dst)
		return err == nil
	})
	if err != nil {
		return dst, err
	}
	return b.finish(dst, mapShape(f.MapKey().Kind() == protoreflect.StringKind)), nil
}

func (p *messagePrinter) value(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch protoKind(f) {
	case Bool:
		return appendBool(dst, v.Bool()), nil
	case Float32:
		return appendFloat(dst, v.Float(), 32), nil
	case Float64:
		return appendFloat(dst, v.Float(), 64), nil
	case Bytes:
		return appendBase64(dst, v.Bytes()), nil
	case Object:
		return p.message(dst, v.Message())
	case String:
		if !utf8.ValidString(v.String()) {
			return dst, fmt.Errorf("field %s is not UTF-8", f.Name())
		}
		return appendQuoted(dst, v.String()), nil
	case Enum:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			return appendQuoted(dst, string(e.Name())), nil
		}
		return dst, fmt.Errorf("field %s has the unknown constant %d", f.Name(), v.Enum())
	}
	switch f.Kind() {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	}
	return strconv.AppendInt(dst, v.Int(), 10), nil
}

// protoKind gives the shape of a field's values: the least integer that holds them all, of uint64 one without bounds.
func protoKind(f protoreflect.FieldDescriptor) TypeKind {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return Bool
	case protoreflect.FloatKind:
		return Float32
	case protoreflect.DoubleKind:
		return Float64
	case protoreflect.StringKind:
		return String
	case protoreflect.BytesKind:
		return Bytes
	case protoreflect.EnumKind:
		return Enum
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return Object
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return Int32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return Any
	}
	return Int64
}

// messageTypes gives types of messages, and of one inside itself, or of too many, no more than that anything may stand there.
type messageTypes struct {
	open map[protoreflect.FullName]bool
	made int
}

// maxMessageTypes bounds the tree that a message becomes whose parts hold the same ones again and again.
const maxMessageTypes = 10_000

func (m *messageTypes) message(d protoreflect.MessageDescriptor) *Type {
	name := d.FullName()
	if kind, ok := wellKnown[name]; ok {
		return &Type{Kind: kind, Nullable: true}
	}
	if m.made++; m.open[name] || m.made > maxMessageTypes {
		return &Type{Kind: Any, Class: string(name), Nullable: true}
	}
	m.open[name] = true
	defer delete(m.open, name)
	t := &Type{Kind: Object, Class: string(name), Fields: []Field{}}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		t.Fields = append(t.Fields, Field{string(f.Name()), m.field(f)})
	}
	return t
}

func (m *messageTypes) field(f protoreflect.FieldDescriptor) *Type {
	switch {
	case f.IsMap():
		return &Type{Kind: Map, Key: m.elem(f.MapKey()), Elem: m.elem(f.MapValue())}
	case f.IsList():
		return &Type{Kind: List, Elem: m.elem(f)}
	}
	t := m.elem(f)
	t.Nullable = f.HasPresence()
	return t
}

func (m *messageTypes) elem(f protoreflect.FieldDescriptor) *Type {
	switch kind := protoKind(f); kind {
	case Object:
		return m.message(f.Message())
	case Enum:
		t := &Type{Kind: Enum, Class: string(f.Enum().FullName())}
		for i := range f.Enum().Values().Len() {
			t.Symbols = append(t.Symbols, string(f.Enum().Values().Get(i).Name()))
		}
		return t
	default:
		return &Type{Kind: kind}
	}
}
