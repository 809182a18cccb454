package state

import (
	"math"
	"math/bits"
	"strconv"
)

// The data of Kryo classes without parts. Kryo 5 has little-endian numbers where Kryo 2.24 has big-endian ones.

func (k *kryoReader) uint16() uint16 {
	v := k.Uint16()
	if k.codec.version.little {
		return bits.ReverseBytes16(v)
	}
	return v
}

func (k *kryoReader) uint32() uint32 {
	v := k.Uint32()
	if k.codec.version.little {
		return bits.ReverseBytes32(v)
	}
	return v
}

func (k *kryoReader) uint64() uint64 {
	v := uint64(k.Int64())
	if k.codec.version.little {
		return bits.ReverseBytes64(v)
	}
	return v
}

func readKryoInt(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return strconv.AppendInt(dst, int64(k.zigzagInt()), 10)
}

func readKryoLong(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return strconv.AppendInt(dst, unzigzag(k.varlong()), 10)
}

func readKryoByte(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return strconv.AppendInt(dst, int64(k.Int8()), 10)
}

func readKryoShort(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return strconv.AppendInt(dst, int64(int16(k.uint16())), 10)
}

func readKryoChar(k *kryoReader, dst []byte, _ *kryoType) []byte { return appendChar(dst, k.uint16()) }

func readKryoBool(k *kryoReader, dst []byte, _ *kryoType) []byte { return appendBool(dst, k.Bool()) }

func readKryoFloat(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return appendFloat(dst, float64(math.Float32frombits(k.uint32())), 32)
}

func readKryoDouble(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return appendFloat(dst, math.Float64frombits(k.uint64()), 64)
}

// bigBytes reads a length plus one and two's complement; nil stands for null.
func (k *kryoReader) bigBytes() []byte {
	n := k.varint()
	if n == 0 {
		return nil
	}
	if n == 1 && k.Err() == nil {
		k.Fail("a big number without bytes")
	}
	return checkBig(k.Reader, k.Take(n-1))
}

func readKryoBigInt(k *kryoReader, dst []byte, _ *kryoType) []byte {
	b := k.bigBytes()
	if b == nil {
		return appendNull(dst)
	}
	return append(appendTwosComplement(append(dst, '"'), b), '"')
}

func readKryoBigDec(k *kryoReader, dst []byte, _ *kryoType) []byte {
	b := k.bigBytes()
	if b == nil {
		return appendNull(dst)
	}
	return appendDecimal(dst, b, k.zigzagInt())
}

func readKryoDate(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return appendMillis(dst, int64(k.varlong()), 0)
}

// readKryoTimestamp replaces the fraction of the ms by the nanoseconds of the second.
func readKryoTimestamp(k *kryoReader, dst []byte, _ *kryoType) []byte {
	ms, nanos := int64(k.varlong()), int32(k.varint())
	return appendInstant(dst, floorDiv(ms, 1000), checkNanos(k.Reader, nanos))
}

func readKryoUUID(k *kryoReader, dst []byte, _ *kryoType) []byte {
	if k.codec.version.little {
		return appendUUID(dst, k.uint64(), k.uint64())
	}
	return appendUUID(dst, uint64(unzigzag(k.varlong())), uint64(unzigzag(k.varlong())))
}

func readKryoInstant(k *kryoReader, dst []byte, _ *kryoType) []byte {
	if k.codec.version.little {
		sec, nanos := int64(k.varlong()), int32(k.varint())
		return appendInstant(dst, sec, checkNanos(k.Reader, nanos))
	}
	nanos, sec := k.zigzagInt(), unzigzag(k.varlong()) // its fields by name
	return appendInstant(dst, sec, checkNanos(k.Reader, nanos))
}

func (k *kryoReader) date() date {
	var d date
	if k.codec.version.little {
		d = date{int64(int32(k.varint())), int32(k.Uint8()), int32(k.Uint8())}
	} else {
		day, month := int32(k.uint16()), int32(k.uint16())
		d = date{int64(k.zigzagInt()), month, day}
	}
	if k.Err() == nil && !d.valid() {
		k.Fail("no such date: %d-%d-%d", d.year, d.month, d.day)
	}
	return d
}

// clock reads a time: in Kryo 5 trailing zeros are left out, and the last byte there is has its bits flipped.
func (k *kryoReader) clock() clock {
	if !k.codec.version.little {
		h, m, n, s := int32(k.Int8()), int32(k.Int8()), k.zigzagInt(), int32(k.Int8())
		return k.checkClock(clock{h, m, s, n})
	}
	var parts [3]int32
	for i := range parts {
		b := k.Int8()
		if b < 0 {
			parts[i] = int32(^b)
			return k.checkClock(clock{hour: parts[0], minute: parts[1], second: parts[2]})
		}
		parts[i] = int32(b)
	}
	return k.checkClock(clock{parts[0], parts[1], parts[2], int32(k.varint())})
}

func (k *kryoReader) checkClock(t clock) clock {
	if t.hour < 0 || t.hour > 23 || t.minute < 0 || t.minute > 59 || t.second < 0 || t.second > 59 {
		k.Fail("no such time: %d:%d:%d", t.hour, t.minute, t.second)
	}
	t.nanos = checkNanos(k.Reader, t.nanos)
	return t
}

func readKryoLocalDate(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return append(k.date().append(append(dst, '"')), '"')
}

func readKryoLocalTime(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return append(k.clock().append(append(dst, '"')), '"')
}

// readKryoLocalDateTime reads two objects in Kryo 2.24, whose marks it expects to be new, and bare data in Kryo 5.
func readKryoLocalDateTime(k *kryoReader, dst []byte, _ *kryoType) []byte {
	k.newObject("java.time.LocalDate")
	d := k.date()
	k.newObject("java.time.LocalTime")
	t := k.clock()
	return append(t.append(append(d.append(append(dst, '"')), 'T')), '"')
}

// newObject reads the mark of a field of a final class.
func (k *kryoReader) newObject(class string) {
	if k.codec.version.little {
		return
	}
	if mark := k.varint(); k.Err() == nil && mark != 1 {
		k.Unsupported("a shared or absent %s", class)
	}
	o := kryoObject{at: len(k.whole) - k.Len(), typ: k.codec.version.byName(class), named: k.named}
	if k.begun == len(k.objects) {
		k.objects = append(k.objects, o)
	}
	k.begun++
}

func readKryoText(k *kryoReader, dst []byte, t *kryoType) []byte { return readKryoString(k, dst, t) }
