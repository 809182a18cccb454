package render

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProgressElsewhere(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range []*Progress{NewProgress(f, "reading", 10), NewProgress(nil, "reading", 10), nil} {
		p.Add(10)
		p.Done()
		p.Done()
	}
	if s, err := f.Stat(); err != nil || s.Size() != 0 {
		t.Errorf("something was written: %d bytes, %v", s.Size(), err)
	}
}
