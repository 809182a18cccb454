package state

import (
	"math"
	"net"
	"strconv"
	"time"
)

// Classes of the JDK whose data is known: the enums that are met in states, and small values that Kryo 5 has serializers for. Kryo 2.24 writes some of these by
// their private fields: where these differ from one JDK to the next, they are left alone.

// kryoEnums have their constants in order: Kryo writes the ordinal plus one.
var kryoEnums = map[string][]string{
	"java.time.DayOfWeek": {"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"},
	"java.time.Month":     {"JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"},
	"java.time.temporal.ChronoUnit": {"NANOS", "MICROS", "MILLIS", "SECONDS", "MINUTES", "HOURS", "HALF_DAYS", "DAYS", "WEEKS", "MONTHS", "YEARS", "DECADES",
		"CENTURIES", "MILLENNIA", "ERAS", "FOREVER"},
	"java.util.concurrent.TimeUnit": {"NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"},
	"java.math.RoundingMode":        {"UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UNNECESSARY"},
}

func (v *kryoVersion) jdk() {
	for name, constants := range kryoEnums {
		v.classes[name] = &kryoType{name: name, kind: Enum, read: readKryoEnum, constants: constants}
	}
	add := func(name string, kind TypeKind, read kryoRead) {
		v.classes[name] = &kryoType{name: name, kind: kind, read: read}
	}
	for _, name := range []string{"java.util.Currency", "java.util.TimeZone", "sun.util.calendar.ZoneInfo"} {
		add(name, String, readKryoText)
	}
	add("java.util.concurrent.atomic.AtomicInteger", Int32, readKryoInt)
	add("java.util.concurrent.atomic.AtomicLong", Int64, readKryoLong)
	add("java.net.InetSocketAddress", String, readKryoAddress)
	add("java.text.SimpleDateFormat", String, readJavaField("pattern"))
	if !v.little {
		add("java.util.regex.Pattern", String, readKryoText) // its flags are not stored
		add("java.util.Locale", String, readJavaLocale)
		return
	}
	add("java.util.regex.Pattern", String, readKryoPattern)
	add("java.net.URL", String, readKryoText)
	for _, name := range []string{"UTF_8", "US_ASCII", "ISO_8859_1", "UTF_16", "UTF_16BE", "UTF_16LE"} {
		add("sun.nio.cs."+name, String, readKryoText)
	}
}

// patternFlags are the letters that set a flag of java.util.regex.Pattern inside an expression, by bit.
var patternFlags = [...]byte{0: 'd', 1: 'i', 2: 'x', 3: 'm', 5: 's', 6: 'u', 8: 'U'}

// readKryoPattern prints an expression with its flags in front, "(?im)a+", which means the same. Two flags cannot be written so.
func readKryoPattern(k *kryoReader, dst []byte, _ *kryoType) []byte {
	expression, _ := k.string(nil)
	flags := k.varint()
	if flags == 0 {
		return appendQuoted(dst, expression)
	}
	text := []byte("(?")
	for bit := range 32 {
		if flags>>bit&1 == 0 {
			continue
		}
		if bit >= len(patternFlags) || patternFlags[bit] == 0 {
			k.Fail("a pattern with flags %#x", flags)
			return appendNull(dst)
		}
		text = append(text, patternFlags[bit])
	}
	return appendQuoted(dst, append(append(text, ')'), expression...))
}

// readKryoAddress prints "host:port".
func readKryoAddress(k *kryoReader, dst []byte, _ *kryoType) []byte {
	host, null := k.string(nil)
	port := k.varint()
	switch {
	case k.Err() != nil:
		return appendNull(dst)
	case null || port > math.MaxUint16:
		k.Fail("an address with port %d", port)
		return appendNull(dst)
	}
	return appendQuoted(dst, []byte(net.JoinHostPort(string(host), strconv.Itoa(port))))
}

func readKryoEnum(k *kryoReader, dst []byte, t *kryoType) []byte {
	n := k.varint()
	switch {
	case k.Err() != nil || n == 0:
		return appendNull(dst)
	case n > len(t.constants):
		k.Fail("constant %d of %s, which has %d", n-1, t.name, len(t.constants))
		return appendNull(dst)
	}
	return appendQuoted(dst, []byte(t.constants[n-1]))
}

// readKryoDuration prints what Duration.toString does, with whole hours in front.
func readKryoDuration(k *kryoReader, dst []byte, _ *kryoType) []byte {
	var seconds int64
	var nanos int
	if k.codec.version.little {
		seconds, nanos = int64(k.uint64()), k.varint()
	} else {
		nanos, seconds = int(k.zigzagInt()), unzigzag(k.varlong())
	}
	if k.Err() == nil && (nanos < 0 || nanos >= int(time.Second)) {
		k.Fail("%d nanoseconds", nanos)
	}
	return appendDuration(dst, seconds, nanos)
}

// appendDuration appends "PT1H2M3.5S"; the seconds of a negative duration are rounded down, and its nanoseconds count up from there.
func appendDuration(dst []byte, seconds int64, nanos int) []byte {
	if seconds == 0 && nanos == 0 {
		return append(dst, `"PT0S"`...)
	}
	whole := seconds
	if whole < 0 && nanos > 0 {
		whole++
	}
	dst = append(dst, `"PT`...)
	for _, part := range []struct {
		n    int64
		unit byte
	}{{whole / 3600, 'H'}, {whole % 3600 / 60, 'M'}} {
		if part.n != 0 {
			dst = append(strconv.AppendInt(dst, part.n, 10), part.unit)
		}
	}
	rest := whole % 60
	if rest == 0 && nanos == 0 {
		return append(dst, '"')
	}
	if seconds < 0 && nanos > 0 {
		if nanos = int(time.Second) - nanos; rest == 0 {
			dst = append(dst, '-')
		}
	}
	dst = strconv.AppendInt(dst, rest, 10)
	if nanos > 0 {
		dst = append(dst, '.')
		digits := strconv.Itoa(int(time.Second) + nanos)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		dst = append(dst, digits...)
	}
	return append(dst, 'S', '"')
}

// readKryoPeriod prints what Period.toString does.
func readKryoPeriod(k *kryoReader, dst []byte, _ *kryoType) []byte {
	var parts [3]int32 // years, months, days
	for i := range parts {
		if k.codec.version.little {
			parts[i] = int32(k.varint())
		} else {
			parts[2-i] = k.zigzagInt()
		}
	}
	dst = append(dst, '"', 'P')
	some := false
	for i, n := range parts {
		if n != 0 {
			dst, some = append(strconv.AppendInt(dst, int64(n), 10), "YMD"[i]), true
		}
	}
	if !some {
		dst = append(dst, '0', 'D')
	}
	return append(dst, '"')
}
