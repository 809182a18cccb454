package state

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// EncodeKey gives the serialized forms of a key, a namespace and a map's user key from their JSON; nil stands for absent.
// A void namespace is absent and still has a serialized form.
func (s *Schema) EncodeKey(key, namespace, mapKey []byte) (k, n, m []byte, err error) {
	if k, err = encodePart("key", s.Key, key); err != nil {
		return nil, nil, nil, s.keyFault(err)
	}
	if n, err = s.encodeNamespace(namespace); err != nil {
		return nil, nil, nil, s.keyFault(err)
	}
	if m, err = encodePart("map key", s.MapKey, mapKey); err != nil {
		return nil, nil, nil, s.keyFault(err)
	}
	return k, n, m, nil
}

func (s *Schema) encodeNamespace(text []byte) ([]byte, error) {
	if s.Namespace != nil && s.void() {
		if text != nil {
			return nil, errors.New("the state has no namespaces")
		}
		return []byte{0}, nil
	}
	return encodePart("namespace", s.Namespace, text)
}

func encodePart(name string, c Codec, text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	if c == nil {
		return nil, fmt.Errorf("the state has no %s", name)
	}
	kc, ok := c.(KeyCodec)
	if !ok {
		return nil, fmt.Errorf("a %s of type %s cannot be looked up", name, c.Type())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, text, err)
	}
	b, err := kc.AppendKey([]byte{}, compact.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, text, err)
	}
	return b, nil
}

// KeyGroup is the group of a key by its Java hashCode.
func KeyGroup(hashCode int32, maxParallelism int) int {
	if maxParallelism <= 0 {
		return 0
	}
	h := uint32(hashCode) * 0xCC9E2D51
	h = (h<<15 | h>>17) * 0x1B873593
	h = (h<<13|h>>19)*5 + 0xE6546B64
	h ^= 4
	h = (h ^ h>>16) * 0x85EBCA6B
	h = (h ^ h>>13) * 0xC2B2AE35
	h ^= h >> 16
	v := int32(h)
	switch {
	case v == -1<<31:
		v = 0
	case v < 0:
		v = -v
	}
	return int(v) % maxParallelism
}

// OperatorID is the id of the operator with the given uid, in hex: MurmurHash3 x64 128 of its UTF-8 bytes, seed 0.
func OperatorID(uid string) string {
	id := murmur128([]byte(uid))
	return hex.EncodeToString(id[:])
}

// KeyGroup is the group of a key given as JSON; false where its type does not say what its hashCode is, or the key does
// not fit the type. Then each group may hold it.
func (s *Schema) KeyGroup(key []byte) (int, bool) {
	kc, ok := s.Key.(KeyCodec)
	var compact bytes.Buffer
	if !ok || json.Compact(&compact, key) != nil {
		return 0, false
	}
	hash, ok := kc.HashCode(compact.Bytes())
	if !ok || s.MaxParallelism <= 0 {
		return 0, false
	}
	return KeyGroup(hash, s.MaxParallelism), true
}
