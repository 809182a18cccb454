package render

import (
	"bytes"
	"math"
)

// maxYear keeps all arithmetic on days and seconds inside 64 bits; no Parquet type reaches as far.
const maxYear = 10_000_000

// moment is a point on a time line without a zone: seconds since 1970-01-01T00:00:00 and the nanoseconds that follow.
type moment struct {
	seconds int64
	nanos   int64
}

func (m moment) micros() (int64, bool) {
	if m.nanos%1000 != 0 || m.seconds > math.MaxInt64/1_000_000-1 || m.seconds < math.MinInt64/1_000_000+1 {
		return 0, false
	}
	return m.seconds*1_000_000 + m.nanos/1000, true
}

func (m moment) nanoseconds() (int64, bool) {
	if m.seconds > math.MaxInt64/1_000_000_000-1 || m.seconds < math.MinInt64/1_000_000_000+1 {
		return 0, false
	}
	return m.seconds*1_000_000_000 + m.nanos, true
}

// outcome of reading a text: what is wrong is either the text or its size.
type outcome uint8

const (
	read outcome = iota
	malformed
	tooFar
)

// parseMoment reads a date, T and a time as parseTime does, such as 2006-01-02T15:04:05.999999999, with a Z behind it for an instant.
func parseMoment(b []byte, instant bool) (moment, outcome) {
	if instant {
		if len(b) == 0 || b[len(b)-1] != 'Z' {
			return moment{}, malformed
		}
		b = b[:len(b)-1]
	}
	t := bytes.IndexByte(b, 'T')
	if t < 0 {
		return moment{}, malformed
	}
	nanos, ok := parseTime(b[t+1:])
	if !ok {
		return moment{}, malformed
	}
	days, o := parseDate(b[:t])
	return moment{days*24*60*60 + nanos/1_000_000_000, nanos % 1_000_000_000}, o
}

// parseDate reads [+-]2006-01-02 with a year of four digits or more and gives the days since 1970-01-01.
func parseDate(b []byte) (days int64, o outcome) {
	sign := int64(1)
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	n := digits(b)
	if n < 4 || n > 18 || len(b) != n+6 || b[n] != '-' || b[n+3] != '-' {
		return 0, malformed
	}
	year := sign * number(b[:n])
	month, ok1 := pair(b[n+1:])
	day, ok2 := pair(b[n+4:])
	if !ok1 || !ok2 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month) {
		return 0, malformed
	}
	if year > maxYear || year < -maxYear {
		return 0, tooFar
	}
	return daysSince(year, month, day), read
}

// parseTime reads 15:04, 15:04:05 or 15:04:05.999999999 and gives the nanoseconds since midnight. Java's LocalTime leaves out seconds that are zero.
func parseTime(b []byte) (nanos int64, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, false
	}
	hour, ok1 := pair(b)
	minute, ok2 := pair(b[3:])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	nanos, ok = parseSeconds(b[5:])
	return (hour*60+minute)*60*1_000_000_000 + nanos, ok
}

// parseSeconds reads what stands behind the minutes: nothing, :05 or :05.999999999.
func parseSeconds(b []byte) (nanos int64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	if len(b) < 3 || b[0] != ':' {
		return 0, false
	}
	second, ok := pair(b[1:])
	if !ok || second > 59 {
		return 0, false
	}
	nanos, ok = parseFraction(b[3:])
	return second*1_000_000_000 + nanos, ok
}

func parseFraction(b []byte) (nanos int64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	n := digits(b[1:])
	if b[0] != '.' || n == 0 || n > 9 || n != len(b)-1 {
		return 0, false
	}
	nanos = number(b[1:])
	for ; n < 9; n++ {
		nanos *= 10
	}
	return nanos, true
}

// number reads digits only, at most 18 of them.
func number(b []byte) int64 {
	v := int64(0)
	for _, c := range b {
		v = v*10 + int64(c-'0')
	}
	return v
}

func pair(b []byte) (int64, bool) {
	if len(b) < 2 || digits(b[:2]) != 2 {
		return 0, false
	}
	return number(b[:2]), true
}

func daysOf(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince counts from 1970-01-01 in the proleptic Gregorian calendar, by years that start on a 1 March.
func daysSince(year, month, day int64) int64 {
	const era = 400 // years, after which the calendar repeats
	const daysPerEra, daysTo1970 = 146_097, 719_468
	if month < 3 {
		year, month = year-1, month+12
	}
	eras := year / era
	if year%era < 0 {
		eras--
	}
	y := year - eras*era
	return eras*daysPerEra + y*365 + y/4 - y/100 + (153*(month-3)+2)/5 + day - 1 - daysTo1970
}

// digits counts the leading decimal digits.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
