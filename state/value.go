package state

import (
	"errors"
	"fmt"

	"github.com/statebridge/statebridge/fault"
	"github.com/statebridge/statebridge/state/javaio"
)

// listDelimiter stands between the elements of a list as RocksDB holds it. Elements may contain it.
const listDelimiter = ','

// DecodeValue reads a value into row: the value, and the time of last access where the state has one. A list is an array
// of its elements. A timer has no value; a raw one becomes {"$raw":…}.
func (s *Schema) DecodeValue(row *Row, value []byte) error {
	row.TTL, row.HasTTL = 0, false
	r := &row.reader
	r.Reset(s.Name, 0, value)
	switch s.Kind {
	case KindTimer: // its value is in the key
	case KindList:
		row.valueBuf = s.appendList(row.valueBuf[:0], row, r)
		row.Value = row.valueBuf
	case KindMap:
		if r.Bool() {
			row.valueBuf = s.appendNoValue(row.valueBuf[:0], r)
			row.Value = row.valueBuf
			break
		}
		s.decodeOne(row, r)
	default:
		s.decodeOne(row, r)
	}
	r.End()
	if err := r.Err(); err != nil {
		return fmt.Errorf("state %q: value: %w", s.Name, err)
	}
	return nil
}

// appendNoValue appends the null that a map entry is marked with. The heap's canonical savepoints have behind the mark what the serializer writes for null.
func (s *Schema) appendNoValue(dst []byte, r *javaio.Reader) []byte {
	if r.Len() > 0 {
		appendFramed(dst, s.Value, r)
	}
	return appendNull(dst)
}

func (s *Schema) decodeOne(row *Row, r *javaio.Reader) {
	row.valueBuf = appendFramed(row.valueBuf[:0], s.access(row, r), r)
	row.Value = row.valueBuf
}

// access reads the time of last access, where the state has one, and gives the codec of what follows.
func (s *Schema) access(row *Row, r *javaio.Reader) Codec {
	c, ok := s.Value.(*ttlCodec)
	if !ok {
		return s.Value
	}
	if ts := r.Int64(); !row.HasTTL || ts > row.TTL {
		row.TTL, row.HasTTL = ts, true
	}
	return c.inner
}

// appendList reads elements up to the end, each but the last followed by the delimiter. The list was last accessed when
// its newest element was.
func (s *Schema) appendList(dst []byte, row *Row, r *javaio.Reader) []byte {
	whole, start := *r, len(dst)
	dst = append(dst, '[')
	for !full(dst, r) && r.Len() > 0 {
		if len(dst) > start+1 {
			if d := r.Uint8(); d != listDelimiter {
				r.Fail("%#x stands between two elements", d)
				break
			}
			dst = append(dst, ',')
		}
		dst = s.access(row, r).AppendJSON(dst, r)
	}
	if class, why, ok := undecoded(r.Err(), s.Value); ok {
		*r = whole
		return appendRaw(dst[:start], r.Take(r.Len()), class, why)
	}
	return append(dst, ']')
}

// appendFramed appends the one value that takes all the bytes left, raw where it cannot be decoded.
func appendFramed(dst []byte, c Codec, r *javaio.Reader) []byte {
	whole, start := *r, len(dst)
	if w, ok := c.(wholeCodec); ok {
		dst = w.appendWhole(dst, r)
	} else {
		dst = c.AppendJSON(dst, r)
	}
	if class, why, ok := undecoded(r.Err(), c); ok {
		*r = whole
		return appendRaw(dst[:start], r.Take(r.Len()), class, why)
	}
	if class := r.Told(); class != "" {
		if r.End(); r.Err() != nil { // the hint is wrong, not the bytes
			why := "hint fields: " + reasonOf(r.Err()).Error()
			*r = whole
			return appendRaw(dst[:start], r.Take(r.Len()), class, why)
		}
	}
	return dst
}

// undecoded says why a value is not decoded, if that is what err is about.
func undecoded(err error, c Codec) (class, why string, ok bool) {
	if err == nil {
		return "", "", false
	}
	var u *fault.UnsupportedError // on the heap, so only now
	if !errors.As(err, &u) {
		return "", "", false
	}
	if t := c.Type(); t.Kind == Raw {
		return t.Class, t.Why, true
	}
	class = c.Type().Class
	if class == "" {
		class = c.Type().String()
	}
	return class, u.What, true
}
