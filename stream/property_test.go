package stream

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// object draws a JSON object of the kind a row is, with strings that look like structure.
func object(t *rapid.T, label string) []byte {
	m := rapid.MapOfN(rapid.String(), rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{`"`, `\`, `\"`, "{", "}", "[", "]", ",", ":", "\n", "null"}), 0, 12), func(s []string) any { return s }),
		rapid.Just[any](nil), rapid.Just[any](map[string]any{"deep": []any{map[string]any{}}}),
	), 0, 4).Draw(t, label)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func change(t *rapid.T, partitions int) Change {
	c := Change{
		Op: rapid.SampledFrom([]byte("rcud")).Draw(t, "op"), Partition: rapid.IntRange(0, partitions-1).Draw(t, "partition"), Key: object(t, "key"),
	}
	if c.Op != 'd' {
		c.After = object(t, "after")
	}
	if c.Op != 'r' && rapid.Bool().Draw(t, "with before") {
		c.Before = object(t, "before")
	}
	return c
}

// Whatever is published is read back, in order within each partition, from several goroutines, bodies of any size, attempts given up between.
func TestRoundTripProperty(t *testing.T) {
	b := connect(t, t.TempDir())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b.opts.BatchBytes = rapid.SampledFrom([]int{1, 300, 4 << 10, 64 << 10}).Draw(rt, "batch")
		s := source(t, b, "bank")
		consumer := fmt.Sprintf("consumer %d", n)
		p := publisher(t, s, consumer)
		for id := range rapid.Int64Range(1, 4).Draw(rt, "epochs") {
			partitions := rapid.IntRange(1, 5).Draw(rt, "partitions")
			lanes := make([][]Change, partitions)
			for _, c := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Change { return change(t, partitions) }), 0, 60).Draw(rt, "changes") {
				lanes[c.Partition] = append(lanes[c.Partition], c)
			}
			e := fullEpoch(id, partitions)
			e.Full = id == 0 || rapid.Bool().Draw(rt, "full")
			if rapid.Bool().Draw(rt, "an attempt given up first") {
				w := begin(t, p, e)
				appendLanes(t, w, lanes)
				w.Abort()
			}
			w := begin(t, p, e)
			appendLanes(t, w, lanes)
			published := commit(t, w)
			got, err := collect(t, s, published)
			if err != nil {
				rt.Fatal(err)
			}
			for _, want := range lanes {
				for i, c := range want {
					g := got[c.Partition][i]
					if g.Op != c.Op || string(g.Key) != string(c.Key) || !same(g.Before, c.Before) || !same(g.After, c.After) {
						rt.Fatalf("got %s, want %s", show(g), show(c))
					}
				}
			}
			for i := range lanes {
				if len(got[i]) != len(lanes[i]) {
					rt.Fatalf("partition %d: %d changes, want %d", i, len(got[i]), len(lanes[i]))
				}
			}
			if rapid.Bool().Draw(rt, "trim") {
				if err := s.Trim(t.Context(), consumer, published.Number-1); err != nil {
					rt.Fatal(err)
				}
				if _, err := collect(t, s, published); err != nil {
					rt.Fatal(err)
				}
			}
		}
	})
}

// appendLanes appends each partition from a goroutine of its own.
func appendLanes(t *testing.T, w *Writer, lanes [][]Change) {
	t.Helper()
	var g sync.WaitGroup
	for _, lane := range lanes {
		g.Go(func() {
			for _, c := range lane {
				if err := w.Append(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
}
