package state

import (
	"math"

	"github.com/statebridge/statebridge/state/javaio"
)

// Dates and times, in the ISO form with as many fractional digits as are needed. Each has a null of its own.

var (
	// dateCodec serves java.util.Date, java.sql.Date and java.sql.Time, all ms since the epoch.
	dateCodec      = nullable(fixed(Instant, 8, appendDate))
	timestampCodec = nullable(fixed(Instant, 12, appendTimestamp))
	instantCodec   = nullable(fixed(Instant, 12, appendInstantValue))
	localDateCodec = nullable(fixed(Date, 6, func(dst []byte, r *javaio.Reader) []byte {
		d, null := readDate(r)
		if null {
			return appendNull(dst)
		}
		return append(d.append(append(dst, '"')), '"')
	}))
	localTimeCodec = nullable(fixed(Time, 7, func(dst []byte, r *javaio.Reader) []byte {
		t, null := readTime(r)
		if null {
			return appendNull(dst)
		}
		return append(t.append(append(dst, '"')), '"')
	}))
	localDateTimeCodec = nullable(fixed(DateTime, 13, func(dst []byte, r *javaio.Reader) []byte {
		d, noDate := readDate(r)
		t, noTime := readTime(r)
		if noDate || noTime {
			return appendNull(dst)
		}
		return append(t.append(append(d.append(append(dst, '"')), 'T')), '"')
	}))
)

func nullable(s *scalar) *scalar {
	s.typ.Nullable = true
	return s
}

const secondsPerDay = 24 * 60 * 60

func appendDate(dst []byte, r *javaio.Reader) []byte {
	ms := r.Int64()
	if ms == math.MinInt64 {
		return appendNull(dst)
	}
	return appendMillis(dst, ms, 0)
}

// appendMillis appends an instant given as ms since the epoch and nanoseconds of that ms.
func appendMillis(dst []byte, ms int64, nanos int32) []byte {
	sec := floorDiv(ms, 1000)
	return appendInstant(dst, sec, int32(ms-sec*1000)*1e6+nanos)
}

func appendTimestamp(dst []byte, r *javaio.Reader) []byte {
	ms, nanos := r.Int64(), r.Int32()
	if ms == math.MinInt64 && nanos == 0 {
		return appendNull(dst)
	}
	return appendInstant(dst, floorDiv(ms, 1000), checkNanos(r, nanos))
}

func appendInstantValue(dst []byte, r *javaio.Reader) []byte {
	sec, nanos := r.Int64(), r.Int32()
	if sec == math.MinInt64 && nanos == math.MinInt32 {
		return appendNull(dst)
	}
	return appendInstant(dst, sec, checkNanos(r, nanos))
}

func checkNanos(r *javaio.Reader, n int32) int32 {
	if n < 0 || n >= 1e9 {
		r.Fail("%d nanoseconds of a second", n)
		return 0
	}
	return n
}

func appendInstant(dst []byte, sec int64, nanos int32) []byte {
	day := floorDiv(sec, secondsPerDay)
	s := int32(sec - day*secondsPerDay)
	t := clock{s / 3600, s / 60 % 60, s % 60, nanos}
	dst = civil(day).append(append(dst, '"'))
	dst = t.append(append(dst, 'T'))
	return append(dst, 'Z', '"')
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A date is a day of the proleptic Gregorian calendar.
type date struct {
	year       int64
	month, day int32
}

// civil gives the date of a day since 1970-01-01, by eras of 400 years that start on a 1 March.
func civil(days int64) date {
	const perEra = 146097
	days += 719468
	era := floorDiv(days, perEra)
	d := days - era*perEra
	y := (d - d/1460 + d/36524 - d/146096) / 365
	yday := d - (365*y + y/4 - y/100)
	m := (5*yday + 2) / 153
	out := date{year: y + era*400, month: int32(m) + 3, day: int32(yday-(153*m+2)/5) + 1}
	if out.month > 12 {
		out.month -= 12
		out.year++
	}
	return out
}

// append appends the date as ISO 8601 has it; years beyond four digits carry a sign.
func (d date) append(dst []byte) []byte {
	y := d.year
	switch {
	case y < 0:
		dst, y = append(dst, '-'), -y
	case y > 9999:
		dst = append(dst, '+')
	}
	dst = appendPadded(dst, y, 4)
	dst = appendPadded(append(dst, '-'), int64(d.month), 2)
	return appendPadded(append(dst, '-'), int64(d.day), 2)
}

func (d date) valid() bool {
	return d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= d.daysOfMonth()
}

func (d date) daysOfMonth() int32 {
	switch d.month {
	case 2:
		if d.year%4 == 0 && (d.year%100 != 0 || d.year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func readDate(r *javaio.Reader) (d date, null bool) {
	year, month, day := r.Int32(), r.Int8(), r.Int8()
	if r.Err() != nil || year == math.MinInt32 && month == math.MinInt8 && day == 0 {
		return date{}, true
	}
	d = date{int64(year), int32(month), int32(day)}
	if !d.valid() {
		r.Fail("no such date: %d-%d-%d", year, month, day)
	}
	return d, false
}

// A clock is a time of day.
type clock struct{ hour, minute, second, nanos int32 }

func readTime(r *javaio.Reader) (t clock, null bool) {
	h, m, s, n := r.Int8(), r.Int8(), r.Int8(), r.Int32()
	if r.Err() != nil || h == math.MinInt8 && m == math.MinInt8 && s == 0 && n == math.MinInt32 {
		return clock{}, true
	}
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		r.Fail("no such time: %d:%d:%d", h, m, s)
	}
	return clock{int32(h), int32(m), int32(s), checkNanos(r, n)}, false
}

func (t clock) append(dst []byte) []byte {
	dst = appendPadded(dst, int64(t.hour), 2)
	dst = appendPadded(append(dst, ':'), int64(t.minute), 2)
	dst = appendPadded(append(dst, ':'), int64(t.second), 2)
	if t.nanos == 0 {
		return dst
	}
	dst = appendPadded(append(dst, '.'), int64(t.nanos), 9)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendPadded appends v, which is not negative, with leading zeros up to width.
func appendPadded(dst []byte, v int64, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for ; v > 0 || width > 0; width-- {
		i--
		buf[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, buf[i:]...)
}
