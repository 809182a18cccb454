package stream

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// threeEpochs publishes a full epoch and two deltas.
func threeEpochs(t *testing.T, s *Source) []Epoch {
	t.Helper()
	p := publisher(t, s, "accounts")
	return []Epoch{
		publish(t, p, fullEpoch(1, 2), row('r', 0, 1), row('r', 1, 2)),
		publish(t, p, deltaEpoch(2, 2), row('u', 0, 1), row('u', 1, 2)),
		publish(t, p, deltaEpoch(3, 2), row('d', 0, 1)),
	}
}

// deleteChanges deletes the first message of changes at or behind a sequence.
func deleteChanges(t *testing.T, s *Source, from uint64) {
	t.Helper()
	for seq := from; ; seq++ {
		m, err := s.stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get(headerKind) != kindChanges {
			continue
		}
		if err := s.stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		return
	}
}

func TestMissingMessageIsAGap(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	deleteChanges(t, s, all[1].FirstSeq)
	e, err := next(t, s, "accounts", all[0].Chain, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = collect(t, s, e)
	wantError(t, err, ErrGap, "accounts", "epoch 2", "partition 0", "1 changes wanted, 0 found")

	_, err = next(t, s, "accounts", all[0].Chain, 1) // not offered again
	wantError(t, err, ErrResync)
	resync := fullEpoch(4, 2)
	resync.Resync = true
	publish(t, publisher(t, s, "accounts"), resync, row('r', 1, 2))
	e, err = next(t, s, "accounts", all[0].Chain, 1)
	if err != nil || e.Number != 4 || !e.Full {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err = collect(t, s, e); err != nil {
		t.Fatal(err)
	}
}

func TestMissingMessageInTheMiddleIsAGap(t *testing.T) {
	s := source(t, connect(t, t.TempDir(), func(o *Options) { o.BatchBytes = 1 }), "bank")
	w := begin(t, publisher(t, s, "accounts"), fullEpoch(1, 1))
	for n := range 10 {
		appendAll(t, w, row('r', 0, n))
	}
	e := commit(t, w)
	deleteChanges(t, s, e.FirstSeq+5)
	_, err := collect(t, s, e)
	wantError(t, err, ErrGap, "epoch 1, partition 0", "change 5 follows change 3")
}

func TestPurgedStream(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	if err := s.stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		_, err := collect(t, s, e)
		wantError(t, err, ErrGap)
	}
	for after := range uint64(3) {
		_, err := next(t, s, "accounts", all[0].Chain, after)
		wantError(t, err, ErrResync)
	}
	if e := publish(t, publisher(t, s, "accounts"), deltaEpoch(4, 2), row('u', 1, 2)); e.Number != 4 { // the publisher's own place isn't lost
		t.Fatalf("%+v", e)
	}
}

func TestDeletedStream(t *testing.T) {
	dir := t.TempDir()
	b := connect(t, dir)
	s := source(t, b, "bank")
	all := threeEpochs(t, s)
	if err := b.js.DeleteStream(t.Context(), s.base()); err != nil {
		t.Fatal(err)
	}
	_, err := collect(t, s, all[2])
	wantError(t, err, ErrGap)

	e := publish(t, publisher(t, s, "accounts"), deltaEpoch(4, 2), row('u', 1, 2)) // makes it again
	if e.Number != 4 || e.FirstSeq != 1 {
		t.Fatalf("%+v", e)
	}
	rows, err := collect(t, s, e)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, row('u', 1, 2))
	_, err = collect(t, s, all[1])
	wantError(t, err, ErrGap)
	if err := s.Trim(t.Context(), "accounts", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(t, s, e); err != nil {
		t.Fatalf("trimming by the old stream's sequences: %v", err)
	}
}

// The records are gone: the newest is found again by its commit line, older ones are not.
func TestDeletedBucket(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	if err := s.bus.js.DeleteKeyValue(t.Context(), s.epochs.Bucket()); err != nil {
		t.Fatal(err)
	}
	last, ok := publisher(t, s, "accounts").Last()
	if !ok || last.Number != 3 || last.Attempt != all[2].Attempt {
		t.Fatalf("%+v, %v", last, ok)
	}
	_, err := next(t, s, "accounts", all[0].Chain, 1)
	wantError(t, err, ErrResync)
}

// Where the stream is gone as well a new chain begins.
func TestDeletedBucketAndPurgedStream(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	if err := s.bus.js.DeleteKeyValue(t.Context(), s.epochs.Bucket()); err != nil {
		t.Fatal(err)
	}
	if err := s.stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := publisher(t, s, "accounts")
	if last, ok := p.Last(); ok {
		t.Fatalf("%+v", last)
	}
	e := publish(t, p, fullEpoch(4, 2), row('r', 1, 2))
	if e.Chain == all[0].Chain || e.Number != 1 {
		t.Fatalf("%+v", e)
	}
	for after := range uint64(5) { // wherever a sink stands in the old chain
		got, err := next(t, s, "accounts", all[0].Chain, after)
		if err != nil || got.Attempt != e.Attempt {
			t.Fatalf("after %d: %+v, %v", after, got, err)
		}
	}
	publish(t, p, deltaEpoch(5, 2))
	publish(t, p, deltaEpoch(6, 2))
	if err := s.Trim(t.Context(), "accounts", 1); err != nil {
		t.Fatal(err)
	}
	_, err := next(t, s, "accounts", all[0].Chain, 3)
	wantError(t, err, ErrResync)
}

// A sink that is ahead of all records has seen a history that was lost; it gets the one there is, from its newest full epoch on.
func TestPositionAheadOfRecords(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	got, err := next(t, s, "accounts", all[0].Chain, 7)
	if err != nil || got.Attempt != all[0].Attempt {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := s.Trim(t.Context(), "accounts", 1); err != nil {
		t.Fatal(err)
	}
	_, err = next(t, s, "accounts", all[0].Chain, 7)
	wantError(t, err, ErrResync)
	e := publish(t, publisher(t, s, "accounts"), fullEpoch(4, 2))
	got, err = next(t, s, "accounts", all[0].Chain, 7)
	if err != nil || got.Attempt != e.Attempt {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A full epoch that another sink asked for is an epoch like others to a sink that is up to date, and carries the chain on.
func TestFullEpochCarriesTheChainOn(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	p := publisher(t, s, "accounts")
	full := publish(t, p, fullEpoch(3, 2), row('r', 1, 2))
	delta := publish(t, p, deltaEpoch(4, 2), row('u', 1, 2))
	if full.Chain != all[0].Chain || full.Start != 4 || delta.Chain != all[0].Chain || delta.Start != 4 {
		t.Fatalf("%+v, %+v", full, delta)
	}
	for after, want := range []uint64{4, 2, 3, 4, 5} {
		got, err := next(t, s, "accounts", all[0].Chain, uint64(after))
		if err != nil || got.Number != want {
			t.Fatalf("after %d: %+v, %v", after, got, err)
		}
	}
	if err := s.Trim(t.Context(), "accounts", 2); err != nil {
		t.Fatal(err)
	}
	if got, err := next(t, s, "accounts", all[0].Chain, 1); err != nil || got.Number != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestTrim(t *testing.T) {
	s := newSource(t)
	all := threeEpochs(t, s)
	other := publish(t, publisher(t, s, "carts"), fullEpoch(1, 1), row('r', 0, 1))
	if err := s.Trim(t.Context(), "accounts", 1); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.record(t.Context(), "accounts", 1); ok || err != nil {
		t.Fatalf("record 1: %v, %v", ok, err)
	}
	_, err := collect(t, s, all[0])
	wantError(t, err, ErrGap)
	for range 2 { // the newest stays
		if err := s.Trim(t.Context(), "accounts", 99); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []Epoch{all[2], other} {
		if _, err := collect(t, s, e); err != nil {
			t.Fatal(err)
		}
	}
	p := publisher(t, s, "accounts")
	if last, ok := p.Last(); !ok || last.Number != 3 {
		t.Fatalf("%+v, %v", last, ok)
	}
	publish(t, p, deltaEpoch(4, 2), row('c', 0, 1))
	if got, err := next(t, s, "accounts", all[0].Chain, 3); err != nil || got.Number != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestTrimDeletesObjects(t *testing.T) {
	s := newSource(t)
	p := publisher(t, s, "accounts")
	big := largeRow(0, 2<<20)
	publish(t, p, fullEpoch(1, 1), big)
	w := begin(t, p, deltaEpoch(2, 1)) // an attempt that leaves an object
	appendAll(t, w, largeRow(0, 2<<20))
	w.Abort()
	publish(t, p, deltaEpoch(2, 1))
	kept := publish(t, p, fullEpoch(3, 1), big)
	if err := s.Trim(t.Context(), "accounts", 2); err != nil {
		t.Fatal(err)
	}
	objects, err := s.large.List(t.Context())
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	rows, err := collect(t, s, kept)
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, rows, big)

	if err := s.large.Delete(t.Context(), objects[0].Name); err != nil {
		t.Fatal(err)
	}
	_, err = collect(t, s, kept)
	wantError(t, err, ErrGap, "epoch 3, partition 0", jetstream.ErrObjectNotFound.Error())
}
