package state

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// uuidID is the id that Flink gives java.util.UUID.
const uuidID = 82

func appendUUID(dst []byte, high, low uint64) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], high)
	binary.BigEndian.PutUint64(b[8:], low)
	dst = append(dst, '"')
	start := 0
	for _, end := range [...]int{4, 6, 8, 10, 16} {
		if start > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[start:end])
		start = end
	}
	return append(dst, '"')
}

func parseUUID(json []byte) (high, low uint64, err error) {
	s, err := unquote(json)
	if err != nil {
		return 0, 0, err
	}
	b, err := hex.DecodeString(strings.ReplaceAll(string(s), "-", ""))
	if err != nil || len(b) != 16 || len(s) != 36 {
		return 0, 0, expect("a UUID", false)
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
}

func zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }

// appendVarlong appends at most nine bytes, as kryoReader.varlong reads them.
func appendVarlong(dst []byte, v uint64) []byte {
	for range 8 {
		if v < 0x80 {
			return append(dst, byte(v))
		}
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}
