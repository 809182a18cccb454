package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/statebridge/statebridge/sinks/sinktest"
)

func BenchmarkUpsert(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "bench.db"))
	defer s.Close()
	sinktest.Bench(b, s, 50_000)
}
