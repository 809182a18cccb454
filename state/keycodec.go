package state

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/statebridge/statebridge/jsonscan"
	"github.com/statebridge/statebridge/state/javaio"
)

// Writing keys, so that they can be looked up: the inverse of AppendJSON, and Java's hashCode.

func init() {
	integer(int8Codec, 8)
	integer(int16Codec, 16)
	integer(int32Codec, 32)
	integer(int64Codec, 64)
	integer(countWindowCodec, 64)
	int64Codec.hash = hashed(func(b []byte) int32 { return hashInt64(int64(binary.BigEndian.Uint64(b))) }, int64Codec)

	boolCodec.key, boolCodec.hash = boolKey, hashed(func(b []byte) int32 { return 1237 - 6*int32(b[0]) }, boolCodec)
	float32Codec.key, float32Codec.hash = float32Key, hashed(func(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }, float32Codec)
	float64Codec.key, float64Codec.hash = float64Key, hashed(func(b []byte) int32 { return hashInt64(int64(binary.BigEndian.Uint64(b))) }, float64Codec)
	charCodec.key, charCodec.hash = charKey, hashed(func(b []byte) int32 { return int32(binary.BigEndian.Uint16(b)) }, charCodec)
	stringCodec.key, stringCodec.hash = stringKey, stringHash
	voidCodec.key = func(dst, json []byte) ([]byte, error) { return append(dst, 0), expect("null", isNull(json)) }
	voidNamespaceCodec.key = voidCodec.key
	globalWindowCodec.key = func(dst, json []byte) ([]byte, error) {
		return append(dst, 0), expect(`"GlobalWindow"`, string(json) == `"GlobalWindow"`)
	}
	timeWindowCodec.key = windowKey
	avroStringCodec.key = func(dst, json []byte) ([]byte, error) {
		s, err := unquote(json)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
		return append(dst, s...), err
	}
	dataViewCodec.key = voidCodec.key
	bytesCodec.key, tuple0Codec.key = bytesKey, func(dst, json []byte) ([]byte, error) { return append(dst, 42), expect("[]", string(json) == "[]") }
	temporalKeys()
	decimalKeys()
}

// expect gives an error that says what was expected, unless it is so.
func expect(what string, ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s is expected", what)
}

// hashed makes a hashCode out of the serialized form.
func hashed(hash func(serialized []byte) int32, c *scalar) func(json []byte) (int32, bool) {
	return func(json []byte) (int32, bool) {
		b, err := c.key(nil, json)
		if err != nil {
			return 0, false
		}
		return hash(b), true
	}
}

// integer gives c the keys of a whole number, which is its own hashCode up to 32 bits.
func integer(c *scalar, bits int) {
	c.key = func(dst, json []byte) ([]byte, error) {
		v, err := strconv.ParseInt(string(json), 10, bits)
		if err != nil {
			return dst, fmt.Errorf("a whole number of %d bits is expected", bits)
		}
		for shift := bits - 8; shift >= 0; shift -= 8 {
			dst = append(dst, byte(v>>shift))
		}
		return dst, nil
	}
	c.hash = func(json []byte) (int32, bool) {
		v, err := strconv.ParseInt(string(json), 10, bits)
		return int32(v), err == nil
	}
}

func boolKey(dst, json []byte) ([]byte, error) {
	switch string(json) {
	case "true":
		return append(dst, 1), nil
	case "false":
		return append(dst, 0), nil
	}
	return dst, expect("true or false", false)
}

// parseFloat reads a number, or the name of one that JSON does not have.
func parseFloat(json []byte, bits int) (float64, error) {
	s := string(json)
	switch s {
	case `"NaN"`, `"Infinity"`, `"-Infinity"`:
		s = s[1 : len(s)-1]
	}
	f, err := strconv.ParseFloat(s, bits)
	return f, expect("a number", err == nil)
}

func float32Key(dst, json []byte) ([]byte, error) {
	f, err := parseFloat(json, 32)
	return binary.BigEndian.AppendUint32(dst, javaFloatBits(float32(f))), err
}

func float64Key(dst, json []byte) ([]byte, error) {
	f, err := parseFloat(json, 64)
	return binary.BigEndian.AppendUint64(dst, javaDoubleBits(f)), err
}

func charKey(dst, json []byte) ([]byte, error) {
	s, err := unquote(json)
	n := 0
	eachUnit(s, func(u uint16) {
		dst = binary.BigEndian.AppendUint16(dst, u)
		n++
	})
	if err == nil {
		err = expect("a string of one character", n == 1)
	}
	return dst, err
}

func stringKey(dst, json []byte) ([]byte, error) {
	if isNull(json) {
		return append(dst, 0), nil
	}
	s, err := unquote(json)
	return encodeFlinkString(dst, s), err
}

func stringHash(json []byte) (int32, bool) {
	if isNull(json) {
		return 0, true
	}
	s, err := unquote(json)
	return hashUnits(s), err == nil
}

func windowKey(dst, json []byte) ([]byte, error) {
	for _, name := range []string{"start", "end"} {
		v, err := memberNamed(json, name)
		if err != nil {
			return dst, err
		}
		if dst, err = int64Codec.key(dst, v); err != nil {
			return dst, fmt.Errorf("%s: %w", name, err)
		}
	}
	return dst, nil
}

// memberNamed gives the value of a member; nil where there is none.
func memberNamed(json []byte, name string) ([]byte, error) {
	m, quoted := jsonscan.MembersOf(json), appendQuoted(nil, name)
	if len(json) == 0 || json[0] != '{' {
		return nil, expect("an object", false)
	}
	for m.Next() {
		if string(m.Name) == string(quoted) {
			return m.Value, nil
		}
	}
	return nil, m.Err()
}

// onlyMembers checks that an object has each of the named members once, "$class" or not, and no other.
func onlyMembers(json []byte, names []string) error {
	seen := map[string]bool{}
	m := jsonscan.MembersOf(json)
	for m.Next() {
		name, err := unquote(m.Name)
		switch {
		case err != nil:
			return err
		case string(name) == memberClass:
		case !slices.Contains(names, string(name)):
			return fmt.Errorf("there is no member %q: %s", name, expectedMembers(names))
		case seen[string(name)]:
			return fmt.Errorf("member %q is there twice", name)
		}
		seen[string(name)] = true
	}
	for _, name := range names {
		if m.Err() == nil && !seen[name] {
			return fmt.Errorf("member %q is missing: %s; what is null is written so", name, expectedMembers(names))
		}
	}
	return m.Err()
}

func expectedMembers(names []string) string {
	return "an object of the members " + strings.Join(names, ", ") + " is expected"
}

// unquote reads a JSON string as WTF-8.
func unquote(json []byte) ([]byte, error) {
	if len(json) < 2 || json[0] != '"' || json[len(json)-1] != '"' {
		return nil, expect("a string", false)
	}
	s, out := json[1:len(json)-1], make([]byte, 0, len(json))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c < 0x20:
			return nil, expect("a string", false)
		case c != '\\':
			out = append(out, c)
			i++
			continue
		case i+1 == len(s):
			return nil, expect("a string", false)
		case s[i+1] == 'u':
			u, err := hexUnit(s[i+2:])
			if err != nil {
				return nil, err
			}
			out = javaio.AppendUTF16(out, u)
			i += 6
		default:
			e, err := unescape(s[i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, e)
			i += 2
		}
	}
	return out, nil
}

func hexUnit(s []byte) (uint16, error) {
	if len(s) < 4 {
		return 0, expect(`four digits after \u`, false)
	}
	v, err := strconv.ParseUint(string(s[:4]), 16, 16)
	return uint16(v), expect(`four digits after \u`, err == nil)
}

func unescape(c byte) (byte, error) {
	switch c {
	case '"', '\\', '/':
		return c, nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	return 0, fmt.Errorf("the escape \\%c is not JSON", c)
}
