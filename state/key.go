package state

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// PrefixLen is the width of the key group in composite keys, in bytes.
func (s *Schema) PrefixLen() int {
	switch {
	case s.Ungrouped:
		return 0
	case s.MaxParallelism > 128:
		return 2
	}
	return 1
}

// ambiguous says whether the lengths of key and namespace stand in composite keys.
func (s *Schema) ambiguous() bool {
	return !s.Ungrouped && s.Key.FixedLen() < 0 && s.Namespace.FixedLen() < 0
}

// void says whether the namespace is of no meaning and left out of rows.
func (s *Schema) void() bool {
	return s.Namespace == nil || s.Namespace.Type().Kind == Null
}

// DecodeKey reads a composite key into row: its key group, key, namespace and the user key of a map; of a timer also its
// timestamp, as the value. State without keys has the map key of a broadcast state only.
func (s *Schema) DecodeKey(row *Row, key []byte) error {
	row.resetKey()
	r := &row.reader
	r.Reset(s.Name, 0, key)
	if s.Key == nil {
		s.decodeMapKey(row, r)
		r.End()
		return s.keyFault(r.Err())
	}
	if s.Ungrouped {
		row.keyBuf = appendFramed(row.keyBuf[:0], s.Key, r)
		row.Key = row.keyBuf
		r.End()
		return s.keyFault(r.Err())
	}
	s.decodeGroup(row, r)
	if s.Kind == KindTimer {
		row.valueBuf = appendTimestampKey(row.valueBuf[:0], r)
		row.Value = row.valueBuf
	}
	parts := *r
	s.decodeParts(row, r, s.Kind != KindTimer && s.ambiguous())
	if class, why, ok := undecoded(r.Err(), s.Key); ok {
		s.decodeRawKey(row, parts.Rest(), class, why)
		return nil
	}
	s.decodeMapKey(row, r)
	r.End()
	return s.keyFault(r.Err())
}

// decodeRawKey shows all that follows the key group as one raw key: where its parts end is not known.
func (s *Schema) decodeRawKey(row *Row, parts []byte, class, why string) {
	row.keyBuf = appendRaw(row.keyBuf[:0], parts, class, why)
	row.Key, row.Namespace, row.MapKey = row.keyBuf, nil, nil
}

func (s *Schema) keyFault(err error) error {
	if err != nil {
		return fmt.Errorf("state %q: key: %w", s.Name, err)
	}
	return nil
}

func (s *Schema) decodeGroup(row *Row, r *javaio.Reader) {
	if s.PrefixLen() == 1 {
		row.KeyGroup = int(r.Uint8())
		return
	}
	row.KeyGroup = int(r.Uint16())
}

func (s *Schema) decodeParts(row *Row, r *javaio.Reader, suffixes bool) {
	before := r.Len()
	row.keyBuf = s.Key.AppendJSON(row.keyBuf[:0], r)
	row.Key = row.keyBuf
	if suffixes {
		checkSuffix(r, before-r.Len())
	}
	before = r.Len()
	if s.void() {
		s.Namespace.Skip(r)
	} else {
		row.namespaceBuf = s.Namespace.AppendJSON(row.namespaceBuf[:0], r)
		row.Namespace = row.namespaceBuf
	}
	if suffixes {
		checkSuffix(r, before-r.Len())
	}
}

func (s *Schema) decodeMapKey(row *Row, r *javaio.Reader) {
	if s.MapKey == nil || r.Err() != nil {
		return
	}
	row.mapKeyBuf = appendFramed(row.mapKeyBuf[:0], s.MapKey, r)
	row.MapKey = row.mapKeyBuf
}

// checkSuffix reads the length that stands behind a part of n bytes.
func checkSuffix(r *javaio.Reader, n int) {
	for v := n; ; v >>= 8 {
		if b := r.Uint8(); r.Err() == nil && b != byte(v) {
			r.Fail("the length behind a part of %d bytes has byte %#x", n, b)
		}
		if v < 1<<8 {
			return
		}
	}
}

// appendTimestampKey reads the timestamp of a timer: its sign is flipped, so that bytes sort as numbers do.
func appendTimestampKey(dst []byte, r *javaio.Reader) []byte {
	return strconv.AppendInt(dst, int64(uint64(r.Int64())^1<<63), 10)
}

// AppendKey appends the composite key of serialized parts: the group, the key, the namespace and a map's user key, with
// the lengths between them where they are ambiguous. The parts of a timer (its element, whole or split in order) follow
// the key group as they are.
func (s *Schema) AppendKey(dst []byte, keyGroup int, key, namespace, userKey []byte) []byte {
	switch s.PrefixLen() {
	case 2:
		dst = binary.BigEndian.AppendUint16(dst, uint16(keyGroup))
	case 1:
		dst = append(dst, byte(keyGroup))
	}
	suffixes := s.Kind != KindTimer && s.ambiguous()
	dst = append(dst, key...)
	if suffixes {
		dst = appendSuffix(dst, len(key))
	}
	dst = append(dst, namespace...)
	if suffixes {
		dst = appendSuffix(dst, len(namespace))
	}
	return append(dst, userKey...)
}

// appendSuffix appends n low byte first, in as many bytes as it needs.
func appendSuffix(dst []byte, n int) []byte {
	for ; n >= 1<<8; n >>= 8 {
		dst = append(dst, byte(n))
	}
	return append(dst, byte(n))
}
