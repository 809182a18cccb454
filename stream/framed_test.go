package stream

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzFramed: what the frame reads, parseLine reads too and the same, unless the row after is no JSON, which its decoder finds out.
func FuzzFramed(f *testing.F) {
	for _, next := range []string{
		line,
		`{"op":"d","key":{"id":2},"before":{"a":[{}]},"after":null,"source":{"name":"b","partition":3,"seq":13},"ts_ms":1}`,
		`{"op":"u","key":{"id":1},"before":null,"after":{"source":{"seq":1},"x":",\"after\":"},"source":{"name":"b","partition":3,"seq":14},"ts_ms":1}`,
		`{"op":"u","key":{"id":1},"before":null,"after":{"a":1},"before":{"b":2},"source":{"name":"b","partition":3,"seq":14},"ts_ms":1}`,
		`{"op":"u","key":{"id":1},"before":null,"after":{"a":1},"source":{"name":"b","partition":3,"seq":0},"ts_ms":1}`,
		`{"op":"u","key":null,"before":null,"after":{"a":1},"source":{"name":"b","partition":3,"seq":15},"ts_ms":1}`,
		`{"op":"u","key":{"id":1},"object":{"name":"x"},"source":{"name":"b","partition":3,"seq":16},"ts_ms":1}`,
		`,"source":{"name":"b","partition":3,"seq":16},"ts_ms":1}`, ``,
	} {
		f.Add(line, next)
	}
	f.Fuzz(func(t *testing.T, first, next string) {
		var frame framed
		if p, err := parseLine([]byte(first)); err == nil {
			frame.learn([]byte(first), p)
		}
		text := []byte(next)
		got, ok := frame.parse(text)
		if !bytes.Equal(text, []byte(next)) {
			t.Fatal("the line has changed")
		}
		if !ok || got.After != nil && !json.Valid(got.After) {
			return
		}
		want, err := parseLine(text)
		if err != nil || !got.same(want) || want.object != nil {
			t.Fatalf("frame %q %q: got %+v, want %+v, %v", frame.middle, frame.end, got, want, err)
		}
	})
}

// TestFramed: every line that a Writer makes is read by its frame.
func TestFramed(t *testing.T) {
	e := fullEpoch(1, 4)
	e.Source, e.Consumer = `quotes " and ,"seq":`, "accounts"
	lines, err := newFrame(&e, 3)
	if err != nil {
		t.Fatal(err)
	}
	var frame framed
	for i := range 20 {
		c := benchRow(i)
		c.Seq = uint64(i + 1)
		if i%3 == 0 {
			c.Op, c.After = 'd', nil
		}
		text := bytes.TrimSuffix(lines.append(nil, &c), []byte("\n"))
		want, err := parseLine(text)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			frame.learn(text, want)
		}
		if got, ok := frame.parse(text); !ok || !got.same(want) {
			t.Fatalf("%s: read as %+v, %v", text, got, ok)
		}
	}
}
