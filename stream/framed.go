package stream

import (
	"bytes"

	"github.com/statebridge/statebridge/jsonscan"
)

// framed reads the lines of one partition that its Writer has made: they are the same but for op, key, rows and seq, so all else is compared
// instead of scanned, and after is what lies between. What another writer may have made is for parseLine.
//
//	{"op":"u","key":{…},"before":{…},"after":{…},"source":{"name":…,"partition":3,"seq":12},"ts_ms":1764590400000}
//	                                           └──────────── middle ─────────────┘  └─────── end ──────┘
type framed struct {
	middle, end []byte
	tries       int
}

// maxLearn bounds how often a frame is looked for: the lines of another writer may have none.
const maxLearn = 3

const (
	lineStart  = `{"op":"`
	lineKey    = `","key":`
	lineBefore = `,"before":`
	lineAfter  = `,"after":`
	lineSeq    = `,"seq":`
)

// learn takes the frame of a line that parseLine has read, if it has one.
func (f *framed) learn(line []byte, p parsed) {
	if f.tries++; f.tries > maxLearn {
		return
	}
	at := bytes.LastIndex(line, []byte(lineSeq))
	from := bytes.LastIndex(line[:max(at, 0)], []byte(`,"source":{`))
	if p.object != nil || at < 0 || from < 0 {
		return
	}
	middle, rest := line[from:at+len(lineSeq)], line[at+len(lineSeq):]
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	learnt := framed{middle: bytes.Clone(middle), end: bytes.Clone(rest[digits:])}
	if q, ok := learnt.parse(line); ok && q.same(p) {
		f.middle, f.end = learnt.middle, learnt.end
	}
}

func (p parsed) same(q parsed) bool {
	return p.Op == q.Op && p.Seq == q.Seq && bytes.Equal(p.Key, q.Key) && bytes.Equal(p.Before, q.Before) && bytes.Equal(p.After, q.After)
}

// parse reads a line of the frame; false for any other.
func (f *framed) parse(line []byte) (p parsed, ok bool) {
	if f.end == nil || !bytes.HasSuffix(line, f.end) {
		return p, false
	}
	rest := line[:len(line)-len(f.end)]
	digits := len(rest)
	for digits > 0 && rest[digits-1] >= '0' && rest[digits-1] <= '9' {
		digits--
	}
	seq, err := number(rest[digits:])
	if err != nil || seq == 0 || !bytes.HasSuffix(rest[:digits], f.middle) {
		return p, false
	}
	rest = rest[:digits-len(f.middle)]
	if len(rest) < len(lineStart)+1+len(lineKey) || string(rest[:len(lineStart)]) != lineStart || !bytes.HasPrefix(rest[len(lineStart)+1:], []byte(lineKey)) {
		return p, false
	}
	p.Seq, p.Op, rest = seq, rest[len(lineStart)], rest[len(lineStart)+1+len(lineKey):]
	if p.Key, rest, ok = leading(rest, lineBefore); !ok || p.Key == nil {
		return p, false
	}
	if p.Before, rest, ok = leading(rest, lineAfter); !ok {
		return p, false
	}
	return p, p.last(rest)
}

// last takes the row after the change, which is all that is left of a line. What it holds is for whoever decodes it.
func (p *parsed) last(rest []byte) bool {
	if jsonscan.IsNull(rest) {
		return true
	}
	p.After = rest
	return isObject(rest)
}

// leading takes an object or null, and what follows it.
func leading(b []byte, follows string) (value, rest []byte, ok bool) {
	end, err := jsonscan.ValueEnd(b, 0)
	if err != nil || !bytes.HasPrefix(b[end:], []byte(follows)) {
		return nil, nil, false
	}
	value, err = nullable(b[:end])
	return value, b[end+len(follows):], err == nil
}
