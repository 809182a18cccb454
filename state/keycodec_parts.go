package state

import (
	"encoding/binary"
	"fmt"

	"github.com/statebridge/statebridge/jsonscan"
)

// Keys with parts. An object's hashCode is the user's own, and so is not known.

// appendPart appends one part of a key.
func appendPart(dst []byte, name string, c Codec, json []byte) ([]byte, error) {
	kc, ok := c.(KeyCodec)
	if !ok {
		return dst, fmt.Errorf("%s: a value of type %s cannot be looked up", name, c.Type())
	}
	if json == nil {
		json = []byte("null")
	}
	dst, err := kc.AppendKey(dst, json)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", name, err)
	}
	return dst, nil
}

// elementsOf gives the elements of an array; n is how many are expected, or -1.
func elementsOf(json []byte, n int) ([][]byte, error) {
	m := jsonscan.MembersOf(json)
	if len(json) == 0 || json[0] != '[' {
		if n >= 0 {
			return nil, expect(fmt.Sprintf("an array of %d", n), false)
		}
		return nil, expect("an array", false)
	}
	var all [][]byte
	for m.Next() {
		all = append(all, m.Value)
	}
	if m.Err() == nil && n >= 0 && len(all) != n {
		return nil, fmt.Errorf("an array of %d is expected, not of %d", n, len(all))
	}
	return all, m.Err()
}

// hashParts is 31 times the hash of what comes before plus that of the next part.
func hashParts(h int32, codecs func(i int) Codec, parts [][]byte) (int32, bool) {
	for i, v := range parts {
		kc, ok := codecs(i).(KeyCodec)
		if !ok {
			return 0, false
		}
		part := int32(0)
		if !isNull(v) {
			if part, ok = kc.HashCode(v); !ok {
				return 0, false
			}
		}
		h = 31*h + part
	}
	return h, true
}

// AppendKey takes an array.
func (c *tupleCodec) AppendKey(dst, json []byte) ([]byte, error) {
	parts, err := elementsOf(json, len(c.fields))
	for i := range parts {
		if err == nil {
			dst, err = appendPart(dst, c.typ.Fields[i].Name, c.fields[i], parts[i])
		}
	}
	return dst, err
}

// HashCode is that of Flink's tuples.
func (c *tupleCodec) HashCode(json []byte) (int32, bool) {
	parts, err := elementsOf(json, len(c.fields))
	if err != nil || c.unhashed {
		return 0, false
	}
	return hashParts(0, func(i int) Codec { return c.fields[i] }, parts)
}

// AppendKey takes an array.
func (c *rowCodec) AppendKey(dst, json []byte) ([]byte, error) {
	parts, err := elementsOf(json, len(c.fields))
	if err != nil {
		return dst, err
	}
	mask := len(dst)
	dst = append(dst, make([]byte, c.minLen())...)
	for i, v := range parts {
		if isNull(v) {
			bit := i + c.kinds
			dst[mask+bit/8] |= 0x80 >> (bit % 8)
			continue
		}
		if dst, err = appendPart(dst, c.typ.Fields[i].Name, c.fields[i], v); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// HashCode depends on field names that the snapshot does not have.
func (c *rowCodec) HashCode([]byte) (int32, bool) { return 0, false }

// AppendKey takes an array; a set has no order to write it in.
func (c *listCodec) AppendKey(dst, json []byte) ([]byte, error) {
	if c.typ.Kind == Set {
		return dst, fmt.Errorf("a %s cannot be looked up", &c.typ)
	}
	parts, err := elementsOf(json, -1)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(parts)))
	for i, v := range parts {
		if c.flag == presentFlag {
			if isNull(v) {
				dst = append(dst, 0)
				continue
			}
			dst = append(dst, 1)
		}
		if err == nil {
			dst, err = appendPart(dst, fmt.Sprintf("element %d", i), c.elem, v)
		}
	}
	return dst, err
}

// HashCode is that of java.util.List; arrays hash by identity.
func (c *listCodec) HashCode(json []byte) (int32, bool) {
	parts, err := elementsOf(json, -1)
	if err != nil || c.flag != noFlag || c.typ.Kind != List {
		return 0, false
	}
	return hashParts(1, func(int) Codec { return c.elem }, parts)
}

// AppendKey takes an object; "$class" names a subclass.
func (c *objectCodec) AppendKey(dst, json []byte) ([]byte, error) {
	if isNull(json) {
		return append(dst, pojoNull), nil
	}
	class, err := memberNamed(json, memberClass)
	if err != nil {
		return dst, err
	}
	if class != nil {
		name, err := unquote(class)
		if err != nil {
			return dst, err
		}
		if string(name) != c.typ.Class {
			return c.appendSubclassKey(dst, string(name), json)
		}
	}
	names := make([]string, len(c.fields))
	for i, f := range c.typ.Fields {
		names[i] = f.Name
	}
	if err := onlyMembers(json, names); err != nil {
		return dst, err
	}
	dst = append(dst, pojoExact)
	for i, name := range names {
		v, err := memberNamed(json, name)
		if err != nil {
			return dst, err
		}
		if isNull(v) {
			dst = append(dst, 1)
			continue
		}
		if dst, err = appendPart(append(dst, 0), name, c.fields[i], v); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (c *objectCodec) appendSubclassKey(dst []byte, name string, json []byte) ([]byte, error) {
	tag := classMember(name)
	for i, s := range c.registered {
		if string(s.tag) == string(tag) {
			return appendSubclassFields(append(dst, pojoRegistered, byte(i)), name, s.codec, json)
		}
	}
	s := c.others[name]
	if s == nil {
		return dst, fmt.Errorf("%s is not a subclass of %s that the state knows", name, c.typ.Class)
	}
	dst = binary.BigEndian.AppendUint16(append(dst, pojoSubclass), uint16(len(name)))
	return appendSubclassFields(append(dst, name...), name, s.codec, json)
}

// appendSubclassFields appends what the subclass's own serializer writes.
func appendSubclassFields(dst []byte, name string, c Codec, json []byte) ([]byte, error) {
	if o, ok := c.(*objectCodec); !ok || o.typ.Class != name {
		return dst, fmt.Errorf("%s cannot be looked up", name)
	}
	return appendPart(dst, name, c, json)
}

// HashCode is the user's own.
func (c *objectCodec) HashCode([]byte) (int32, bool) { return 0, false }

// AppendKey takes a constant's name.
func (c *enumCodec) AppendKey(dst, json []byte) ([]byte, error) {
	name, err := unquote(json)
	if err != nil {
		return dst, err
	}
	i := c.index(string(name))
	return binary.BigEndian.AppendUint32(dst, uint32(i)), expect(fmt.Sprintf("one of %q", c.typ.Symbols), i >= 0)
}

// HashCode of an enum differs from process to process.
func (c *enumCodec) HashCode([]byte) (int32, bool) { return 0, false }

// AppendKey takes null, or what the wrapped serializer takes.
func (c *nullableCodec) AppendKey(dst, json []byte) ([]byte, error) {
	if isNull(json) {
		return append(append(dst, 1), make([]byte, c.padding)...), nil
	}
	return appendPart(append(dst, 0), "value", c.inner, json)
}

// HashCode of null is 0.
func (c *nullableCodec) HashCode(json []byte) (int32, bool) {
	if isNull(json) {
		return 0, true
	}
	return hashParts(0, func(int) Codec { return c.inner }, [][]byte{json})
}

// AppendKey takes a UUID; other classes that Kryo writes cannot be looked up.
func (c *kryoCodec) AppendKey(dst, json []byte) ([]byte, error) {
	high, low, err := parseUUID(json)
	if c.typ.Kind != UUID {
		err = fmt.Errorf("a value that Kryo wrote (%s) cannot be looked up", c.typ.Class)
	}
	if err != nil {
		return dst, err
	}
	dst = append(dst, uuidID+2, 1)
	if c.version.little {
		dst = binary.LittleEndian.AppendUint64(dst, high)
		return binary.LittleEndian.AppendUint64(dst, low), nil
	}
	return appendVarlong(appendVarlong(dst, zigzag(high)), zigzag(low)), nil
}

// HashCode is that of java.util.UUID.
func (c *kryoCodec) HashCode(json []byte) (int32, bool) {
	high, low, err := parseUUID(json)
	if err != nil || c.typ.Kind != UUID {
		return 0, false
	}
	return hashInt64(int64(high ^ low)), true
}
