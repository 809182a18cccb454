package fetch

import "time"

// Span is a piece of a file.
type Span struct{ Off, Len int64 }

func (s Span) end() int64 { return s.Off + s.Len }

// maxRange is what one request brings at most, unless a single span is larger. More comes sooner by several.
const maxRange = 1 << 20

// merge joins ascending spans of one file between which there are gap bytes at most. Spans may overlap.
func merge(spans []Span, gap int64) []Span {
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if end := max(last.end(), s.end()); s.Off < last.end() || s.Off-last.end() <= gap && end-last.Off <= maxRange {
				last.Len = end - last.Off
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// plan joins the spans of several files so that fetching all of them takes least, by the cost of a request and of the bytes
// that lie between spans. The gaps that are tried double, as the best need not be met exactly.
func plan(files [][]Span, c Cost, memory int64) [][]Span {
	best := ranges(files, 0)
	took := c.of(best)
	for gap := int64(1 << 10); c.Latency > 0 && gap <= maxRange; gap *= 2 {
		tried := ranges(files, gap)
		if size(tried) > memory {
			break
		}
		if t := c.of(tried); t < took {
			best, took = tried, t
		}
	}
	return best
}

func ranges(files [][]Span, gap int64) [][]Span {
	out := make([][]Span, len(files))
	for i, spans := range files {
		out[i] = merge(spans, gap)
	}
	return out
}

func (c Cost) of(files [][]Span) time.Duration { return c.Time(size(files), count(files)) }

func size(files [][]Span) (n int64) {
	for _, spans := range files {
		for _, s := range spans {
			n += s.Len
		}
	}
	return n
}

func count(files [][]Span) (n int64) {
	for _, spans := range files {
		n += int64(len(spans))
	}
	return n
}
