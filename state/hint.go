package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// A Hint says how to decode the values of a class whose layout is not in the snapshot. See ParseHint for its text.
type Hint struct {
	Class   string // as the snapshot names it: of the serializer, or of what a generic serializer holds
	Frame   string // "int32" or "varint": what stands before the bytes is their length; "": they are all of a value
	Form    string // utf8, json, hex, protobuf, avro, fields or enum
	File    string // of protobuf and avro: where Data comes from
	Data    []byte // a descriptor set, or an Avro schema; ParseHint leaves it to the caller
	Message string // of protobuf: the full name of the message
	Fields  string // of fields: name:type,name:type…
	Names   string // of enum: the constants in order
}

// ParseHint reads CLASS=FORM, where FORM is one of
//
//	utf8 | json | hex | protobuf:FILE#Message | avro:FILE   what the bytes are; int32: or varint: before it says
//	                                                        that their length stands before them
//	fields:name:type,name:type,…                            all fields of a class that Kryo or a POJO's serializer wrote
//	enum:NAME,NAME,…                                        all constants, in order, of an enum that Kryo wrote
func ParseHint(text string) (Hint, error) {
	class, form, ok := strings.Cut(text, "=")
	if !ok || class == "" || form == "" {
		return Hint{}, fmt.Errorf("%q: CLASS=FORM is expected", text)
	}
	h := Hint{Class: class}
	for _, frame := range []string{"int32", "varint"} {
		if rest, ok := strings.CutPrefix(form, frame+":"); ok {
			h.Frame, form = frame, rest
			break
		}
	}
	var argument string
	h.Form, argument, _ = strings.Cut(form, ":")
	switch h.Form {
	case "utf8", "json", "hex":
		ok = argument == "" && !strings.HasSuffix(form, ":")
	case "avro":
		h.File, ok = argument, argument != ""
	case "protobuf":
		i := strings.LastIndexByte(argument, '#')
		if ok = i > 0 && i+1 < len(argument); ok {
			h.File, h.Message = argument[:i], argument[i+1:]
		}
	case "fields":
		h.Fields, ok = argument, h.Frame == ""
	case "enum":
		h.Names, ok = argument, h.Frame == ""
	default:
		ok = false
	}
	if !ok {
		return Hint{}, fmt.Errorf("%q: after CLASS= one of utf8, json, hex, protobuf:FILE#Message, avro:FILE (int32: or varint: may stand before each) fields:name:type,… or enum:NAME,… is expected", text)
	}
	return h, nil
}

// Hints are ready for use by several goroutines. They remember which of them met a value; nil is no hint at all.
type Hints struct{ byClass map[string]*hint }

// A hint decodes bytes, or knows the fields of a class, or the constants of an enum.
type hint struct {
	Hint
	typ    *Type
	decode func(dst, b []byte) ([]byte, error) // the error says what does not fit
	avro   Codec                               // of avro: the same schema in Flink's own encoding
	shape  *shapeHint
	kryo   [2]*kryoType // by version: 2.24, 5
	met    atomic.Bool
}

// NewHints prepares hints, and lists all faults at once.
func NewHints(list []Hint) (*Hints, error) {
	all := &Hints{byClass: map[string]*hint{}}
	var faults []error
	for _, l := range list {
		h := &hint{Hint: l}
		err := h.prepare()
		if err == nil && all.byClass[l.Class] != nil {
			err = errors.New("is given twice")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("hint for %s: %w", l.Class, err))
			continue
		}
		all.byClass[l.Class] = h
	}
	return all, errors.Join(faults...)
}

func (h *hint) prepare() (err error) {
	switch h.Form {
	case "utf8":
		h.typ, h.decode = &Type{Kind: String, Class: h.Class}, appendUTF8
	case "hex":
		h.typ, h.decode = &Type{Kind: String, Class: h.Class}, appendHex
	case "json":
		h.typ, h.decode = &Type{Kind: Any, Class: h.Class, Nullable: true}, appendCanonical
	case "avro":
		err = h.prepareAvro()
	case "protobuf":
		h.typ, h.decode, err = protobufDecoder(h.Data, h.Message)
	case "fields":
		h.shape, err = parseShape(h.Class, h.Fields)
	case "enum":
		h.typ, err = enumType(h.Class, h.Names)
	default:
		err = fmt.Errorf("form %q is not known", h.Form)
	}
	if err != nil {
		return err
	}
	h.kryo = [2]*kryoType{h.kryoType(&kryo24), h.kryoType(&kryo5)}
	return nil
}

// enumType reads the names of constants.
func enumType(class, names string) (*Type, error) {
	t := &Type{Kind: Enum, Class: class, Symbols: strings.Split(names, ","), Nullable: true}
	for i, name := range t.Symbols {
		if name == "" || slices.Contains(t.Symbols[:i], name) {
			return nil, fmt.Errorf("constant %d of the enum is %q: names that differ are expected", i+1, name)
		}
	}
	return t, nil
}

// find gives the hint for a class, which is met thereby.
func (h *Hints) find(class string) *hint {
	if h == nil || h.byClass[class] == nil {
		return nil
	}
	found := h.byClass[class]
	found.met.Store(true)
	return found
}

// bytes is find for hints that say what bytes are.
func (h *Hints) bytes(class string) *hint {
	if h == nil || h.byClass[class] == nil || h.byClass[class].decode == nil {
		return nil
	}
	return h.find(class)
}

// Unmet lists the classes of the hints that nothing read so far had a use for.
func (h *Hints) Unmet() []string {
	var classes []string
	if h == nil {
		return nil
	}
	for class, l := range h.byClass {
		if !l.met.Load() {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	return classes
}
