package stream

import (
	"bytes"
	"fmt"
	"testing"
)

// largeRow is a created row whose after has n bytes.
func largeRow(partition, n int) Change {
	c := row('r', partition, 0)
	c.After = sized(n)
	return c
}

// sized is an object of n bytes.
func sized(n int) []byte {
	const shell = `{"v":""}`
	return fmt.Appendf(nil, `{"v":"%s"}`, bytes.Repeat([]byte("x"), n-len(shell)))
}

func TestPayloadLimit(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	w := begin(t, p, fullEpoch(1, 2))
	frameOnly := largeRow(1, 100)
	fits := w.lanes[1].room - w.lanes[1].frame.size(&frameOnly) + 100
	changes := []Change{
		row('r', 1, 1), largeRow(1, fits), row('r', 1, 2), largeRow(1, fits+1), row('r', 1, 3), largeRow(1, 20<<20), row('r', 1, 4),
	}
	appendAll(t, w, changes...)
	e := commit(t, w)
	rows, err := collect(t, s, e)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, changes...)
	objects, err := s.large.List(t.Context())
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, want those of one byte too many and of 20 MB: %v", len(objects), err)
	}
}

// What the server refuses can't be less than what we think it takes.
func TestRoomIsExact(t *testing.T) {
	s := newSource(t)
	e := fullEpoch(1, 1)
	e.Source, e.Consumer, e.Number, e.Attempt = "bank", "accounts", ^uint64(0), newID()
	m := s.message(&e, 0, kindChanges, ^uint64(0), ^uint64(0), make([]byte, s.room(&e, 0)))
	if _, err := s.bus.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m.Data = append(m.Data, 0)
	if _, err := s.bus.js.PublishMsg(t.Context(), m); err == nil {
		t.Fatal("one byte more was taken too")
	}
}

func TestKeyLargerThanAMessage(t *testing.T) {
	s := newSource(t)
	c := row('r', 0, 1)
	c.Key = sized(3 << 20)
	d := row('d', 0, 1)
	d.Key, d.Before = sized(3<<20), nil
	e := publish(t, publisher(t, s, "accounts"), fullEpoch(1, 1), c, d)
	rows, err := collect(t, s, e)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, c, d)
}
