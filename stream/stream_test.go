package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// connect starts an embedded server on dir, and stops it when the test ends unless that has happened already.
func connect(t testing.TB, dir string, change ...func(*Options)) *Bus {
	t.Helper()
	o := Options{Dir: dir}
	for _, f := range change {
		f(&o)
	}
	b, err := Connect(t.Context(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-b.Closed():
		default:
			b.Close()
		}
	})
	return b
}

func quiet() *slog.Logger {
	if os.Getenv("STREAM_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func source(t testing.TB, b *Bus, name string) *Source {
	t.Helper()
	s, err := b.Source(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newSource(t testing.TB) *Source {
	t.Helper()
	return source(t, connect(t, t.TempDir()), "bank")
}

func publisher(t testing.TB, s *Source, consumer string) *Publisher {
	t.Helper()
	p, err := s.Publisher(t.Context(), consumer)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func snapshot(id int64) SnapshotRef {
	return SnapshotRef{Job: "job", CheckpointID: id, Location: fmt.Sprintf("file:///flink/chk-%d", id)}
}

func fullEpoch(id int64, partitions int) Epoch {
	return Epoch{
		Full: true, Snapshot: snapshot(id), Partitions: partitions, Operator: "accounts-op", State: "order totals.v1",
		Columns: []Column{{Name: "id", Type: "string", Key: true}, {Name: "balance", Type: "int64"}},
	}
}

func deltaEpoch(id int64, partitions int) Epoch {
	e := fullEpoch(id, partitions)
	e.Full = false
	return e
}

// row makes a change that says what it is.
func row(op byte, partition, n int) Change {
	c := Change{Op: op, Partition: partition, Key: fmt.Appendf(nil, `{"id":"%d/%d"}`, partition, n)}
	if op != 'd' {
		c.After = fmt.Appendf(nil, `{"id":"%d/%d","balance":%d}`, partition, n, n)
	}
	if op == 'u' || op == 'd' {
		c.Before = fmt.Appendf(nil, `{"id":"%d/%d","balance":%d}`, partition, n, n-1)
	}
	return c
}

func begin(t testing.TB, p *Publisher, e Epoch) *Writer {
	t.Helper()
	w, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	return w
}

func appendAll(t testing.TB, w *Writer, changes ...Change) {
	t.Helper()
	for _, c := range changes {
		if err := w.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func commit(t testing.TB, w *Writer) Epoch {
	t.Helper()
	e, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// publish writes a whole epoch.
func publish(t testing.TB, p *Publisher, e Epoch, changes ...Change) Epoch {
	t.Helper()
	w := begin(t, p, e)
	appendAll(t, w, changes...)
	return commit(t, w)
}

// collect reads an epoch, a list of changes for each partition.
func collect(t testing.TB, s *Source, e Epoch) ([][]Change, error) {
	t.Helper()
	all := make([][]Change, e.Partitions)
	for batch, err := range s.Changes(t.Context(), e) {
		if err != nil {
			return all, err
		}
		for _, c := range batch {
			c.Key, c.Before, c.After = bytes.Clone(c.Key), bytes.Clone(c.Before), bytes.Clone(c.After)
			all[c.Partition] = append(all[c.Partition], c)
		}
	}
	return all, nil
}

// next asks for the epoch behind a position; waiting for longer than a moment fails.
func next(t testing.TB, s *Source, consumer, chain string, after uint64) (Epoch, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return s.Next(ctx, consumer, chain, after)
}

func wantChanges(t testing.TB, got [][]Change, want ...Change) {
	t.Helper()
	seen := make([]int, len(got))
	for _, w := range want {
		i := seen[w.Partition]
		seen[w.Partition]++
		if i >= len(got[w.Partition]) {
			t.Fatalf("partition %d: change %d is missing", w.Partition, i+1)
		}
		g := got[w.Partition][i]
		w.Seq = uint64(i + 1)
		if g.Op != w.Op || g.Seq != w.Seq || g.Partition != w.Partition ||
			!bytes.Equal(g.Key, w.Key) || !same(g.Before, w.Before) || !same(g.After, w.After) {
			t.Fatalf("partition %d, change %d:\n got %s\nwant %s", w.Partition, i+1, show(g), show(w))
		}
	}
	for i := range got {
		if len(got[i]) != seen[i] {
			t.Fatalf("partition %d: %d changes, want %d", i, len(got[i]), seen[i])
		}
	}
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func show(c Change) string {
	short := func(b []byte) string {
		if len(b) > 200 {
			return fmt.Sprintf("%s… (%d bytes)", b[:200], len(b))
		}
		return string(b)
	}
	return fmt.Sprintf("%c seq %d key %s before %s after %s", c.Op, c.Seq, short(c.Key), short(c.Before), short(c.After))
}

func TestPublishAndRead(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	if _, ok := p.Last(); ok {
		t.Fatal("a new consumer has a last epoch")
	}
	first := publish(t, p, fullEpoch(1, 3), row('r', 0, 1), row('r', 2, 2), row('r', 0, 3))
	second := publish(t, p, deltaEpoch(2, 3), row('c', 1, 1), row('u', 0, 1), row('d', 2, 2))

	got, err := next(t, s, "accounts", "", 0)
	if err != nil || got.Attempt != first.Attempt || !got.Full {
		t.Fatalf("first epoch: %+v, %v", got, err)
	}
	rows, err := collect(t, s, got)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, row('r', 0, 1), row('r', 2, 2), row('r', 0, 3))
	got, err = next(t, s, "accounts", first.Chain, 1)
	if err != nil || got.Attempt != second.Attempt || got.Base == nil || *got.Base != snapshot(1) || got.Counts != (Counts{C: 1, U: 1, D: 1}) {
		t.Fatalf("second epoch: %+v, %v", got, err)
	}
	if rows, err = collect(t, s, got); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, row('c', 1, 1), row('u', 0, 1), row('d', 2, 2))
}

func TestRestartKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, dir)
	publish(t, publisher(t, source(t, b, "bank"), "accounts"), fullEpoch(1, 2), row('r', 0, 1), row('r', 1, 2))
	b.Close()

	s := source(t, connect(t, dir), "bank")
	p := publisher(t, s, "accounts")
	last, ok := p.Last()
	if !ok || last.Number != 1 || last.Snapshot != snapshot(1) {
		t.Fatalf("last = %+v, %v", last, ok)
	}
	rows, err := collect(t, s, last)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, row('r', 0, 1), row('r', 1, 2))
	if e := publish(t, p, deltaEpoch(2, 2)); e.Number != 2 || e.Chain != last.Chain {
		t.Fatalf("next epoch: %+v", e)
	}
}

func TestDirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, dir, func(o *Options) { o.Listen = "127.0.0.1:0" })
	_, err := Connect(t.Context(), Options{Dir: dir}, quiet())
	wantError(t, err, ErrInUse, fmt.Sprintf("process %d", os.Getpid()), b.ClientURL())
	b.Close()
	connect(t, dir)
}

// A machine that went down may have taken the end of the files with it.
func TestMachineWentDown(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, dir)
	before := publish(t, publisher(t, source(t, b, "bank"), "accounts"), fullEpoch(1, 1), row('r', 0, 1))
	b.Close()
	id, err := os.ReadFile(filepath.Join(dir, generationFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(id, []byte(" clean\n")) {
		t.Fatalf("generation after a clean stop: %q", id)
	}
	if err := writeGeneration(dir, string(bytes.Fields(id)[0]), "another boot"); err != nil {
		t.Fatal(err)
	}
	b = connect(t, dir)
	p := publisher(t, source(t, b, "bank"), "accounts")
	if last, ok := p.Last(); ok {
		t.Fatalf("a delta may build on %+v", last)
	}
	if _, err := p.Begin(t.Context(), deltaEpoch(2, 1)); err == nil {
		t.Fatal("a delta was begun")
	}
	e := publish(t, p, fullEpoch(2, 1), row('r', 0, 1))
	if e.Number != 2 || e.Chain == before.Chain {
		t.Fatalf("epoch %+v", e)
	}
	b.Close()
	if _, ok := publisher(t, source(t, connect(t, dir), "bank"), "accounts").Last(); !ok {
		t.Fatal("the loss is noticed for ever")
	}
}

// TestWritersSealedTogether: what is sealed takes no change any more and is published by Commit alone.
func TestWritersSealedTogether(t *testing.T) {
	s := newSource(t)
	var writers []*Writer
	for _, consumer := range []string{"accounts", "carts"} {
		p := publisher(t, s, consumer)
		e := fullEpoch(1, 2)
		e.Step = p.Step() + 1
		w := begin(t, p, e)
		appendAll(t, w, row('r', 0, 1), row('r', 1, 2))
		if err := w.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), row('r', 0, 3)); !errors.Is(err, ErrClosed) {
			t.Errorf("appended to what is sealed: %v", err)
		}
		if _, ok, err := s.Head(t.Context(), consumer); ok || err != nil {
			t.Errorf("published before the commit: %t, %v", ok, err)
		}
		writers = append(writers, w)
	}
	var heads [2]Epoch
	for i, w := range writers {
		e, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if heads[i], _, err = s.Head(t.Context(), e.Consumer); err != nil || heads[i].Counts.R != 2 {
			t.Errorf("%+v, %v", heads[i], err)
		}
	}
	if !heads[0].SameStep(heads[1]) || heads[0].Step != 1 {
		t.Errorf("steps %d and %d", heads[0].Step, heads[1].Step)
	}
	p := publisher(t, s, "carts")
	if p.Step() != 1 {
		t.Errorf("step %d", p.Step())
	}
	gone := begin(t, p, deltaEpoch(2, 2))
	if err := gone.Seal(t.Context()); err != nil {
		t.Error(err)
	}
	gone.Abort()
	if _, err := gone.Commit(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("committed what was given up: %v", err)
	}
}
