package state

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

func temporalKeys() {
	millis := func(b []byte) int32 { return hashInt64(int64(binary.BigEndian.Uint64(b))) }
	dateCodec.key, dateCodec.hash = dateKey, hashed(millis, dateCodec)
	timestampCodec.key, timestampCodec.hash = timestampKey, hashed(millis, timestampCodec)
	instantCodec.key = instantKey
	instantCodec.hash = hashed(func(b []byte) int32 { return millis(b) + 51*int32(binary.BigEndian.Uint32(b[8:])) }, instantCodec)
	localDateCodec.key, localDateCodec.hash = localDateKey, hashed(dateHash, localDateCodec)
	localTimeCodec.key, localTimeCodec.hash = localTimeKey, hashed(timeHash, localTimeCodec)
	localDateTimeCodec.key = localDateTimeKey
	localDateTimeCodec.hash = hashed(func(b []byte) int32 { return dateHash(b) ^ timeHash(b[6:]) }, localDateTimeCodec)
}

// parseTime reads a string of the given form; years have four digits.
func parseTime(json []byte, layout, example string) (time.Time, error) {
	s, err := unquote(json)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(layout, string(s))
	return t, expect("a string like "+example, err == nil)
}

func parseInstant(json []byte) (time.Time, error) {
	return parseTime(json, time.RFC3339Nano, "2006-01-02T15:04:05.999Z")
}

func dateKey(dst, json []byte) ([]byte, error) {
	t, err := parseInstant(json)
	if err == nil {
		err = expect("no more than milliseconds", t.Nanosecond()%1e6 == 0)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(t.UnixMilli())), err
}

func timestampKey(dst, json []byte) ([]byte, error) {
	t, err := parseInstant(json)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.UnixMilli()))
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond())), err
}

func instantKey(dst, json []byte) ([]byte, error) {
	t, err := parseInstant(json)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix()))
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond())), err
}

func localDateKey(dst, json []byte) ([]byte, error) {
	t, err := parseTime(json, time.DateOnly, "2006-01-02")
	return appendDateKey(dst, t), err
}

func localTimeKey(dst, json []byte) ([]byte, error) {
	t, err := parseTime(json, "15:04:05.999999999", "15:04:05.999")
	return appendTimeKey(dst, t), err
}

func localDateTimeKey(dst, json []byte) ([]byte, error) {
	t, err := parseTime(json, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999")
	return appendTimeKey(appendDateKey(dst, t), t), err
}

func appendDateKey(dst []byte, t time.Time) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(t.Year()))
	return append(dst, byte(t.Month()), byte(t.Day()))
}

func appendTimeKey(dst []byte, t time.Time) []byte {
	dst = append(dst, byte(t.Hour()), byte(t.Minute()), byte(t.Second()))
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond()))
}

func dateHash(b []byte) int32 {
	year, month, day := int32(binary.BigEndian.Uint32(b)), int32(b[4]), int32(b[5])
	return year&^0x7FF ^ (year<<11 + month<<6 + day)
}

func timeHash(b []byte) int32 {
	seconds := int64(b[0])*3600 + int64(b[1])*60 + int64(b[2])
	return hashInt64(seconds*1e9 + int64(binary.BigEndian.Uint32(b[3:])))
}

func decimalKeys() {
	bigIntCodec.key, bigDecCodec.key = bigIntKey, bigDecKey
	bigIntCodec.hash = func(json []byte) (int32, bool) {
		v, err := parseBig(json)
		if err != nil {
			return 0, false
		}
		return hashBig(v), true
	}
	bigDecCodec.hash = func(json []byte) (int32, bool) {
		v, scale, err := parseDecimal(json)
		if err != nil {
			return 0, false
		}
		return 31*hashUnscaled(v) + scale, true
	}
}

func parseBig(json []byte) (*big.Int, error) {
	s, err := unquote(json)
	if err != nil {
		return nil, err
	}
	v, ok := new(big.Int).SetString(string(s), 10)
	return v, expect("a whole number as a string", ok)
}

func bigIntKey(dst, json []byte) ([]byte, error) {
	v, err := parseBig(json)
	if err != nil {
		return dst, err
	}
	return appendBig(dst, v), nil
}

func bigDecKey(dst, json []byte) ([]byte, error) {
	v, scale, err := parseDecimal(json)
	if err != nil {
		return dst, err
	}
	return binary.BigEndian.AppendUint32(appendBig(dst, v), uint32(scale)), nil
}

// appendBig appends a big number as Flink does when Java's constants for zero, one and ten are used.
func appendBig(dst []byte, v *big.Int) []byte {
	if v.IsInt64() {
		for short, b := range bigShort {
			if b != nil && v.Int64() == int64(b[0]) {
				return binary.BigEndian.AppendUint32(dst, uint32(short))
			}
		}
	}
	b := twosComplement(v)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)+4))
	return append(dst, b...)
}

// twosComplement gives the shortest form of v.
func twosComplement(v *big.Int) []byte {
	if v.Sign() >= 0 {
		return append(make([]byte, 1-min(v.BitLen()%8, 1)), v.Bytes()...)
	}
	n := uint(new(big.Int).Not(v).BitLen()/8 + 1)
	return new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), 8*n)).FillBytes(make([]byte, n))
}

// parseDecimal reads the text of a java.math.BigDecimal, whose scale matters.
func parseDecimal(json []byte) (unscaled *big.Int, scale int32, err error) {
	b, err := unquote(json)
	if err != nil {
		return nil, 0, err
	}
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(string(b), "e", "E"), "E")
	exp := int64(0)
	if exponent != "" {
		if exp, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return nil, 0, expect("a decimal as a string", false)
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	v, ok := new(big.Int).SetString(whole+fraction, 10)
	s := int64(len(fraction)) - exp
	return v, int32(s), expect("a decimal as a string", ok && s == int64(int32(s)))
}

// hashBig is java.math.BigInteger.hashCode: over the magnitude, 32 bits at a time.
func hashBig(v *big.Int) int32 {
	h := int32(0)
	b := v.Bytes()
	b = append(make([]byte, (4-len(b)%4)%4), b...)
	for ; len(b) > 0; b = b[4:] {
		h = 31*h + int32(binary.BigEndian.Uint32(b))
	}
	return h * int32(v.Sign())
}

// hashUnscaled is the part of java.math.BigDecimal.hashCode before the scale: it hashes a long unlike a BigInteger.
func hashUnscaled(v *big.Int) int32 {
	if !v.IsInt64() || v.Int64() == math.MinInt64 {
		return hashBig(v)
	}
	abs := v.Int64()
	if abs < 0 {
		abs = -abs
	}
	h := int32(abs>>32)*31 + int32(abs)
	return h * int32(v.Sign())
}

func bytesKey(dst, json []byte) ([]byte, error) {
	s, err := unquote(json)
	if err != nil {
		return dst, err
	}
	b, err := base64.StdEncoding.DecodeString(string(s))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...), expect("base64", err == nil)
}
