package stream

import (
	"bytes"
	"fmt"
	"testing"
)

// benchRow is a change of about 200 bytes of rows.
func benchRow(i int) Change {
	key := fmt.Appendf(nil, `{"id":"account-%08d"}`, i)
	return Change{
		Op: 'u', Partition: i % 4, Key: key,
		Before: fmt.Appendf(nil, `{"id":"account-%08d","balance":%d,"owner":"someone"}`, i, i),
		After:  fmt.Appendf(nil, `{"id":"account-%08d","balance":%d,"owner":"someone"}`, i, i+1),
	}
}

func benchRows() []Change {
	rows := make([]Change, 4096)
	for i := range rows {
		rows[i] = benchRow(i)
	}
	return rows
}

func BenchmarkPublish(b *testing.B) {
	s, rows := newSource(b), benchRows()
	p := publisher(b, s, "accounts")
	w := begin(b, p, fullEpoch(1, 4))
	for i := 0; b.Loop(); i++ {
		if err := w.Append(b.Context(), rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
	}
	commit(b, w)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

func BenchmarkRead(b *testing.B) {
	const n = 500_000
	s, rows := newSource(b), benchRows()
	w := begin(b, publisher(b, s, "accounts"), fullEpoch(1, 4))
	for i := range n {
		appendAll(b, w, rows[i%len(rows)])
	}
	e := commit(b, w)
	for b.Loop() {
		got := 0
		for batch, err := range s.Changes(b.Context(), e) {
			if err != nil {
				b.Fatal(err)
			}
			got += len(batch)
		}
		if got != n {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "changes/s")
}

func BenchmarkParseLine(b *testing.B) {
	line := benchLine(b)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}

// benchLine is a line of a full epoch as the bus holds it.
func benchLine(b *testing.B) []byte {
	b.Helper()
	e := fullEpoch(1, 4)
	e.Source, e.Consumer = "bank", "accounts"
	f, err := newFrame(&e, 3)
	if err != nil {
		b.Fatal(err)
	}
	c := benchRow(12)
	c.Seq = 123456
	return bytes.TrimSuffix(f.append(nil, &c), []byte("\n"))
}

func BenchmarkFramed(b *testing.B) {
	line := benchLine(b)
	p, err := parseLine(line)
	if err != nil {
		b.Fatal(err)
	}
	var frame framed
	frame.learn(line, p)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, ok := frame.parse(line); !ok {
			b.Fatal("not read")
		}
	}
}
