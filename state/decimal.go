package state

import (
	"math/big"
	"strconv"

	"github.com/statebridge/statebridge/state/javaio"
)

// A big number is an int32 L and L-4 bytes of two's complement; 0 to 3 stand for null, zero, one and ten. A decimal is
// such a number and an int32 scale.

var (
	bigIntCodec = nullable(&scalar{typ: Type{Kind: BigInt}, size: -1, width: -1, skip: skipBigInt, json: appendBigInt})
	bigDecCodec = nullable(&scalar{typ: Type{Kind: Decimal}, size: -1, width: -1, skip: skipBigDec, json: appendBigDec})
)

var bigShort = [...][]byte{1: {0}, 2: {1}, 3: {10}}

// readBigInt gives the two's complement; nil stands for null.
func readBigInt(r *javaio.Reader) []byte {
	n := r.Int32()
	switch {
	case n < 0:
		r.Fail("negative length %d", n)
		return nil
	case int(n) < len(bigShort):
		return bigShort[n]
	case n == 4:
		r.Fail("a big number without bytes")
		return nil
	}
	return r.Take(int(n) - 4)
}

func skipBigInt(r *javaio.Reader) { readBigInt(r) }

func skipBigDec(r *javaio.Reader) {
	if readBigInt(r) != nil {
		r.Skip(4)
	}
}

func appendBigInt(dst []byte, r *javaio.Reader) []byte {
	b := checkBig(r, readBigInt(r))
	if b == nil {
		return appendNull(dst)
	}
	return append(appendTwosComplement(append(dst, '"'), b), '"')
}

func appendBigDec(dst []byte, r *javaio.Reader) []byte {
	b := checkBig(r, readBigInt(r))
	if b == nil {
		return appendNull(dst)
	}
	return appendDecimal(dst, b, r.Int32())
}

// appendTwosComplement appends the decimal digits of a big-endian number.
func appendTwosComplement(dst, b []byte) []byte {
	if len(b) <= 8 {
		return strconv.AppendInt(dst, smallBig(b), 10)
	}
	return bigOf(b).Append(dst, 10)
}

// maxBig bounds the bytes of a number: to print one takes more than linear time.
const maxBig = 1 << 17

// checkBig faults on a number that is too long.
func checkBig(r *javaio.Reader, b []byte) []byte {
	if len(b) > maxBig {
		r.Unsupported("a number of %d bytes", len(b))
		return nil
	}
	return b
}

func smallBig(b []byte) int64 {
	v := int64(0)
	if len(b) > 0 && b[0] >= 0x80 {
		v = -1
	}
	for _, c := range b {
		v = v<<8 | int64(c)
	}
	return v
}

func bigOf(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// appendDecimal appends unscaled × 10^-scale in the form of java.math.BigDecimal.toString, which keeps the scale.
func appendDecimal(dst, unscaled []byte, scale int32) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = appendTwosComplement(dst, unscaled)
	return append(placePoint(dst, start, int64(scale)), '"')
}

// placePoint turns the integer at dst[start:] into one with scale digits after the point, or with an exponent when the
// scale is negative or the number is below 10^-6.
func placePoint(dst []byte, start int, scale int64) []byte {
	if scale == 0 {
		return dst
	}
	if dst[start] == '-' {
		start++
	}
	digits := int64(len(dst) - start)
	adjusted := digits - 1 - scale
	if scale < 0 || adjusted < -6 {
		if digits > 1 {
			dst = insert(dst, start+1, '.')
		}
		if adjusted == 0 {
			return dst
		}
		dst = append(dst, 'E')
		if adjusted > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, adjusted, 10)
	}
	for ; digits <= scale; digits++ { // at most seven zeros
		dst = insert(dst, start, '0')
	}
	return insert(dst, len(dst)-int(scale), '.')
}

func insert(dst []byte, at int, c byte) []byte {
	dst = append(dst, 0)
	copy(dst[at+1:], dst[at:])
	dst[at] = c
	return dst
}
