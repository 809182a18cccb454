package feed_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/statebridge/statebridge/checkpoint"
	"github.com/statebridge/statebridge/checkpoint/fixture"
	"github.com/statebridge/statebridge/checkpoint/storage"
	"github.com/statebridge/statebridge/feed"
)

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// TestToldOnceOfASnapshot: what is wrong with a snapshot is told once, however many consumers meet it, and however often.
func TestToldOnceOfASnapshot(t *testing.T) {
	r := newRig(t, fixture.RocksDB, customers)
	for n := 1; n <= 3; n++ {
		r.arrive(n)
	}
	spoil := func(checkpoint string, how func([]byte) []byte) {
		file := filepath.Join(r.job, checkpoint, "_metadata")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, how(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spoil("chk-2", func(b []byte) []byte { return append(make([]byte, 4), b[4:]...) })
	spoil("chk-3", func(b []byte) []byte { return b[:len(b)/2] })
	pins, err := checkpoint.OpenPins(filepath.Join(r.data, "pins"), storage.Local())
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	watch := &feed.Watch{Store: storage.Local(), Checkpoints: filepath.Dir(r.job), Poll: time.Millisecond, Log: logger}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		c := customers
		c.Name = name
		f := feed.New([]feed.Consumer{c}, feed.Options{Partitions: 1, Keep: time.Hour}, watch, pins, r.source, r.registry, logger)
		all.Go(func() { _ = f.Run(ctx) })
	}
	all.Wait()
	for text, want := range map[string]int{
		`level=WARN msg="snapshot is not ready"`: 1, `level=ERROR msg="snapshot passed over`: 1, `level=DEBUG msg="snapshot passed over`: 2, `msg="epoch published"`: 3,
	} {
		if n := bytes.Count(log.Bytes(), []byte(text)); n != want {
			t.Errorf("%d lines of %s, want %d", n, text, want)
		}
	}
	if t.Failed() {
		t.Logf("%.6000s", log.Bytes())
	}
}
