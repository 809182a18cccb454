package stream

import (
	"errors"
	"strings"
	"testing"
)

func wantError(t testing.TB, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("err = %v, want %v", err, kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("err = %v, want it to name %q", err, p)
		}
	}
}
