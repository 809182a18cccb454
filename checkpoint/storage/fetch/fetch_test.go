package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/checkpoint/storage/fetch"
	"github.com/statebridge/statebridge/checkpoint/storage/slow"
)

// random is a file of n bytes that no two places of are alike, in a store that can be slow.
func random(t testing.TB, n int, s *slow.Store, link *fetch.Link) ([]byte, storage.File) {
	t.Helper()
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b) // never fails
	at := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(at, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Inner = storage.Local()
	f, err := s.OpenSized(t.Context(), at, int64(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return b, link.File(f)
}

// Whatever the memory, the lanes and the latency, a batch brings the bytes that were wanted, and gives its memory back.
func TestFetch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		latency := time.Duration(rnd.IntN(2)) * time.Duration(1+rnd.IntN(1e6))
		link := fetch.NewLink(latency, fetch.Options{Lanes: 1 + rnd.IntN(20), Memory: 1 << rnd.IntN(20)})
		b, f := random(t, 1+rnd.IntN(1<<18), &slow.Store{}, link)
		var wants []*fetch.Want
		var all [][]fetch.Span
		for range 1 + rnd.IntN(3) {
			var spans []fetch.Span
			for range rnd.IntN(40) {
				off := rnd.IntN(len(b))
				spans = append(spans, fetch.Span{Off: int64(off), Len: int64(rnd.IntN(min(len(b)-off, 5000)) + 1)})
			}
			all = append(all, spans)
			wants = append(wants, &fetch.Want{File: f, Spans: append([]fetch.Span(nil), spans...)})
		}
		batch, err := link.Fetch(t.Context(), wants)
		if err != nil {
			t.Fatal(err)
		}
		for i, spans := range all {
			for _, s := range spans {
				if got := wants[i].Stage.Bytes(s.Off, int(s.Len)); !bytes.Equal(got, b[s.Off:s.Off+s.Len]) {
					t.Fatalf("%d bytes at %d are not those of the file (%d given)", s.Len, s.Off, len(got))
				}
			}
		}
		if batch.Done(); wants[0].Stage.Bytes(0, 1) != nil {
			t.Fatal("something lies on the stage of a batch that is done")
		}
	}
}

// Blocks with small gaps come by few requests where these are dear, and alone where they cost nothing.
func TestFetchJoins(t *testing.T) {
	for _, c := range []struct {
		name    string
		latency time.Duration
		memory  int64
		most    int64
	}{{"near", 0, 0, 1000}, {"far", 20 * time.Millisecond, 0, 200}, {"far, little memory", 20 * time.Millisecond, 9 << 20, 1000}} {
		t.Run(c.name, func(t *testing.T) {
			s := &slow.Store{}
			link := fetch.NewLink(c.latency, fetch.Options{Memory: c.memory})
			_, f := random(t, 8<<20, s, link)
			w := &fetch.Want{File: f}
			for i := range int64(1000) {
				w.Spans = append(w.Spans, fetch.Span{Off: i * 8192, Len: 4096})
			}
			b, err := link.Fetch(t.Context(), []*fetch.Want{w})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Done()
			if err := b.Wait(); err != nil {
				t.Fatal(err)
			}
			if b.Spans != 1000 || b.Ranges != s.Requests() || b.Ranges > c.most || c.most == 1000 && b.Ranges != 1000 {
				t.Errorf("%d spans by %d requests (%d made), %d at most expected", b.Spans, b.Ranges, s.Requests(), c.most)
			}
		})
	}
}

// A batch that breaks gives the error and holds no memory: the next one goes through.
func TestFetchFails(t *testing.T) {
	lost := errors.New("lost")
	s := &slow.Store{Fail: func(n int64) error {
		if n == 3 {
			return lost
		}
		return nil
	}}
	link := fetch.NewLink(time.Nanosecond, fetch.Options{Memory: 2})
	b, f := random(t, 1<<16, s, link)
	want := func() []*fetch.Want {
		return []*fetch.Want{{File: f, Spans: []fetch.Span{{Off: 0, Len: 9}, {Off: 99, Len: 1}, {Off: 60000, Len: 70}, {Off: 5000, Len: 1}}}}
	}
	broken := want()
	batch, err := link.Fetch(t.Context(), broken)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range broken[0].Spans {
		if got := broken[0].Stage.Bytes(s.Off, int(s.Len)); got != nil && !bytes.Equal(got, b[s.Off:s.Off+s.Len]) {
			t.Error("bytes of a failed batch that are not those of the file")
		}
	}
	if err := batch.Wait(); !errors.Is(err, lost) || !batch.Failed() {
		t.Fatal(err)
	}
	batch.Done()
	again := want()
	batch, err = link.Fetch(t.Context(), again)
	if err != nil || !bytes.Equal(again[0].Stage.Bytes(60000, 70), b[60000:60070]) {
		t.Fatal(err)
	}
	batch.Done()
}

// A stream gives the bytes of its file however it is asked in ascending order, and never holds more than its share and one piece.
func TestStream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		link := fetch.NewLink(time.Millisecond, fetch.Options{Lanes: 4, Memory: 1 << rnd.IntN(22)})
		b, f := random(t, 1+rnd.IntN(1<<20), &slow.Store{}, link)
		end := rnd.IntN(len(b) + 1)
		s := link.Stream(t.Context(), f, 0, int64(end), 1<<rnd.IntN(20))
		if rnd.IntN(2) == 0 {
			s.Start()
		}
		for off := 0; off < len(b); {
			n := 1 + rnd.IntN(min(len(b)-off, 1<<rnd.IntN(19)))
			got, err := s.Bytes(int64(off), n)
			if err != nil || !bytes.Equal(got, b[off:off+n]) {
				t.Fatalf("%d bytes at %d of %d are not those of the file: %v", n, off, len(b), err)
			}
			if off += n; rnd.IntN(4) == 0 {
				off += rnd.IntN(1 << 17)
			}
		}
		s.Close()
	}
}

// While a stream is read its next pieces are under way, and more of them the longer it goes on.
func TestStreamReadsAhead(t *testing.T) {
	s := &slow.Store{Delay: 2 * time.Millisecond}
	link := fetch.NewLink(s.Delay, fetch.Options{})
	b, f := random(t, 16<<20, s, link)
	stream := link.Stream(t.Context(), f, 0, int64(len(b)), 8<<20)
	for off := 0; off < len(b); off += 1 << 12 {
		if got, err := stream.Bytes(int64(off), 1<<12); err != nil || !bytes.Equal(got, b[off:off+1<<12]) {
			t.Fatal(off, err)
		}
	}
	stream.Close()
	if s.Requests() != 16 || s.Most() < 4 {
		t.Errorf("%d requests, %d at a time", s.Requests(), s.Most())
	}
}

// A fault comes out where the walk gets to it, and ending a walk early leaves nothing behind.
func TestStreamFails(t *testing.T) {
	lost := errors.New("lost")
	s := &slow.Store{Fail: func(n int64) error {
		if n > 2 {
			return lost
		}
		return nil
	}}
	link := fetch.NewLink(time.Nanosecond, fetch.Options{})
	b, f := random(t, 4<<20, s, link)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := link.Stream(ctx, f, 0, int64(len(b)), 8<<20)
	defer stream.Close()
	for off := range int64(4) {
		got, err := stream.Bytes(off<<20, 100)
		switch {
		case errors.Is(err, lost) && off > 0:
			return
		case err != nil || !bytes.Equal(got, b[off<<20:off<<20+100]):
			t.Fatal(off, err)
		}
	}
	t.Error("no fault")
}
