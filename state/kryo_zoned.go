package state

import "strconv"

// Times with zones, and other small classes of java.time. Kryo 2.24 writes their private fields by name; these have been the same since Java 8.

func (v *kryoVersion) zoned() {
	for name, read := range map[string]kryoRead{
		"java.time.ZoneOffset": readKryoZoneOffset, "java.time.ZoneRegion": readKryoZoneRegion, "java.time.ZonedDateTime": readKryoZonedDateTime,
		"java.time.OffsetDateTime": readKryoOffsetDateTime, "java.time.OffsetTime": readKryoOffsetTime, "java.time.YearMonth": readKryoYearMonth,
		"java.time.MonthDay": readKryoMonthDay, "java.util.GregorianCalendar": readKryoCalendar,
		"java.time.Duration": readKryoDuration, "java.time.Period": readKryoPeriod,
	} {
		v.classes[name] = &kryoType{name: name, kind: String, read: read}
	}
	v.classes["java.time.Year"] = &kryoType{name: "java.time.Year", kind: Int32, read: func(k *kryoReader, dst []byte, _ *kryoType) []byte {
		return strconv.AppendInt(dst, int64(k.year()), 10)
	}}
}

func (k *kryoReader) year() int32 {
	if k.codec.version.little {
		return int32(k.varint())
	}
	return k.zigzagInt()
}

// offset reads seconds to the east: in Kryo 5 quarters of an hour, if it is a whole number of them.
func (k *kryoReader) offset() int {
	if !k.codec.version.little {
		return int(k.zigzagInt())
	}
	if quarters := k.Int8(); quarters != 127 {
		return 900 * int(quarters)
	}
	return int(int32(k.uint32()))
}

// appendOffset appends "Z", "+02:00" or "+01:01:01".
func appendOffset(dst []byte, seconds int) []byte {
	if seconds == 0 {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = append(dst, sign)
	dst = append(appendTwoDigits(dst, seconds/3600), ':')
	dst = appendTwoDigits(dst, seconds/60%60)
	if seconds%60 != 0 {
		dst = appendTwoDigits(append(dst, ':'), seconds%60)
	}
	return dst
}

func appendTwoDigits(dst []byte, n int) []byte {
	if n < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

func readKryoZoneOffset(k *kryoReader, dst []byte, _ *kryoType) []byte {
	return append(appendOffset(append(dst, '"'), k.offset()), '"')
}

func readKryoZoneRegion(k *kryoReader, dst []byte, t *kryoType) []byte {
	k.newObject("java.lang.String")
	return readKryoString(k, dst, t)
}

// dateTime appends a LocalDateTime that is a field of another object.
func (k *kryoReader) dateTime(dst []byte) []byte {
	k.newObject("java.time.LocalDateTime")
	dst = readKryoLocalDateTime(k, dst, nil)
	return dst[:len(dst)-1] // the closing quote
}

// readKryoZonedDateTime prints the offset where it is known: Kryo 5 writes the zone alone.
func readKryoZonedDateTime(k *kryoReader, dst []byte, t *kryoType) []byte {
	dst = k.dateTime(dst)
	if !k.codec.version.little {
		k.newObject("java.time.ZoneOffset")
		dst = appendOffset(dst, k.offset())
	}
	start := len(dst)
	if k.codec.version.little {
		dst = readKryoString(k, dst, t)
	} else {
		dst = k.classAndObject(dst)
	}
	return appendZone(dst, start, k.codec.version.little)
}

// appendZone puts the zone that was appended, in quotes, into its place: an offset is a zone too, and is there but once.
func appendZone(dst []byte, start int, alone bool) []byte {
	if len(dst) < start+3 || dst[start] != '"' {
		return append(dst[:start], '"')
	}
	switch first := dst[start+1]; {
	case first != 'Z' && first != '+' && first != '-' || string(dst[start:]) == `"Zulu"`:
		dst[start], dst[len(dst)-1] = '[', ']'
	case alone:
		copy(dst[start:], dst[start+1:])
		dst = dst[:len(dst)-2]
	default:
		dst = dst[:start]
	}
	return append(dst, '"')
}

func readKryoOffsetDateTime(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = k.dateTime(dst)
	k.newObject("java.time.ZoneOffset")
	return append(appendOffset(dst, k.offset()), '"')
}

func readKryoOffsetTime(k *kryoReader, dst []byte, _ *kryoType) []byte {
	dst = append(dst, '"')
	if k.codec.version.little {
		dst = k.clock().append(dst)
		return append(appendOffset(dst, k.offset()), '"')
	}
	k.newObject("java.time.ZoneOffset")
	offset := k.offset()
	k.newObject("java.time.LocalTime")
	return append(appendOffset(k.clock().append(dst), offset), '"')
}

// readKryoYearMonth prints "2024-02".
func readKryoYearMonth(k *kryoReader, dst []byte, _ *kryoType) []byte {
	d := date{day: 1}
	if k.codec.version.little {
		d.year, d.month = int64(k.year()), int32(k.Uint8())
	} else {
		d.month, d.year = k.zigzagInt(), int64(k.year())
	}
	if k.Err() == nil && !d.valid() {
		k.Fail("no such month: %d-%d", d.year, d.month)
	}
	dst = d.append(append(dst, '"'))
	return append(dst[:len(dst)-len("-01")], '"')
}

// readKryoMonthDay prints "--02-29".
func readKryoMonthDay(k *kryoReader, dst []byte, _ *kryoType) []byte {
	d := date{year: 2000}
	if k.codec.version.little {
		d.month, d.day = int32(k.Uint8()), int32(k.Uint8())
	} else {
		d.day, d.month = k.zigzagInt(), k.zigzagInt()
	}
	if k.Err() == nil && !d.valid() {
		k.Fail("no such day: %d-%d", d.month, d.day)
	}
	dst = appendTwoDigits(append(dst, `"--`...), int(d.month))
	return append(appendTwoDigits(append(dst, '-'), int(d.day)), '"')
}

// readKryoCalendar prints the time and the zone. What a week is, and when the Gregorian calendar starts, are left out.
func readKryoCalendar(k *kryoReader, dst []byte, _ *kryoType) []byte {
	zone, _ := k.string(nil)
	dst = appendMillis(dst, int64(k.varlong()), 0)
	k.Bool() // lenient
	k.varint()
	k.varint()
	k.varlong()
	return appendZone(appendQuoted(dst[:len(dst)-1], zone), len(dst)-1, false)
}
